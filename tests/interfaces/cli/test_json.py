"""With --json one compact line is printed, field for field what the MCP tool answers, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.wire.answer_size import LIMIT, fitted
from metagit_mcp.wire.codec import compact, plain
from tests.interfaces.cli.fake_application import APPROVAL, EXPLANATION, MERMAID, SAMPLES
from tests.interfaces.mcp.fake_application import DECISION, NODE, next_answer, plan_answer, status_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interfaces.cli.conftest import Ended

    Run = Callable[..., Ended]

ANSWERS = [
    ("schedule next", "schedule.next"),
    ("schedule status", "schedule.status"),
    ("schedule explain build", "schedule.status"),
    ("schedule policy show", "policies.run"),
    ("schedule policy preview --cost 1", "policies.run"),
    ("schedule policy set --cost 1", "policies.run"),
    ("work start build", "work.start"),
    ("work report L-1 --state running", "work.report"),
    ("work review build --accept --operator ada", "work.review"),
    ("work release build --force --operator ada", "work.release"),
    ("work retry build --operator ada", "work.retry"),
    ("group estimate group:shop", "groups.estimate"),
    ("pause", "rules.pause"),
    ("resume", "rules.resume"),
    ("task plan --title Ship", "tasks.plan"),
    ("task update build --status completed", "tasks.update"),
]


@pytest.mark.parametrize(("line", "use_case"), ANSWERS, ids=[line for line, _ in ANSWERS])
def test_the_line_is_what_the_tool_answers(run: Run, line: str, use_case: str) -> None:
    ended = run(*line.split(), "--json")
    assert (ended.out, ended.err) == (compact(fitted(SAMPLES[use_case])).decode() + "\n", "")


def test_what_no_tool_answers_has_a_shape_of_its_own(run: Run) -> None:
    assert run("schedule", "count", "--runnable", "--json").record == {"runnable_count": 7}
    assert run("schedule", "plan", "--mermaid", "--json").record == {"mermaid": MERMAID}
    assert run("task", "list", "--json").record == {"graphs": [plain(plan_answer().graph)], "warnings": []}
    assert run("task", "show", "build", "--json").record == {"node": plain(NODE)}
    assert run("work", "approve", "build", "--operator", "ada", "--json").record == plain(APPROVAL)


def test_a_long_answer_is_cut_as_the_tool_cuts_it(run: Run) -> None:
    long = next_answer(*[replace(DECISION, title="x" * 150) for _ in range(100)])
    ended = run("schedule", "next", "--json", schedule_next=long)
    assert len(ended.out) <= LIMIT + 1
    assert ended.record == json.loads(compact(fitted(long)))
    assert ended.record["truncated"] is True


def test_text_beyond_ascii_is_utf_8(run: Run) -> None:
    answer = next_answer(replace(DECISION, title="Größe 漢字"))
    assert '"title":"Größe 漢字"' in run("schedule", "next", "--json", schedule_next=answer).out


def test_an_explanation_comes_in_the_whole_status(run: Run) -> None:
    status = replace(status_answer(), explain=EXPLANATION)
    record = run("schedule", "explain", "build", "--json", schedule_status=status).record
    assert record == fitted(status)
    assert record["explain"] == plain(EXPLANATION)
