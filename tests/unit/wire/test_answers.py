"""Answers stay within what hosts accept and say what was cut; the published schemas are what the code says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from metagit_mcp.domain.decision import (
    AttemptRecord,
    DependencyInput,
    DispatchHints,
    Handoff,
    LeaseRecord,
    ScheduleDecision,
)
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.tasks import TaskGraph
from metagit_mcp.wire.answer_size import LIMIT, fitted
from metagit_mcp.wire.codec import compact, plain
from metagit_mcp.wire.policy_codec import shown_policy
from metagit_mcp.wire.responses import (
    NextAnswer,
    NodeRecord,
    PolicyAnswer,
    TaskUpdateAnswer,
    WorkStartAnswer,
)
from metagit_mcp.wire.schemas import schema_names, schema_of
from tests.snapshots import NOW, group, task

EMPTY = NextAnswer(
    decisions=(),
    skipped=(),
    ready_count=0,
    runnable_count=0,
    not_eligible=(),
    all_finished=False,
    truncated=False,
    omitted=(),
    state_version="s",
    warnings=(),
    next_step="n",
)


def decision(number: int, title: str = "t", needed: int = 0) -> ScheduleDecision:
    hints = DispatchHints(
        title=title,
        graph_id="g",
        priority=0,
        estimated_tokens=1,
        depends_on=tuple(f"n{place:05}" for place in range(needed)),
        handoff=Handoff(prompt="p"),
    )
    return ScheduleDecision(
        decision_id=f"d{number}",
        at=NOW,
        graph_id="g",
        node_id=f"n{number}",
        title=title,
        score=1.0,
        reasons=("priority=0",),
        dispatch_hints=hints,
    )


def test_an_answer_that_fits_is_left_alone() -> None:
    answer = replace(EMPTY, decisions=(decision(1),), warnings=("w",))
    assert fitted(answer) == plain(answer)
    assert fitted(answer)["truncated"] is False


def test_the_least_useful_is_cut_first_and_said() -> None:
    many = tuple(decision(number, "x" * 150) for number in range(200))
    answer = replace(
        EMPTY, decisions=many[:100], skipped=many, warnings=tuple(f"w{number}" * 40 for number in range(90))
    )
    found = fitted(answer)
    assert len(compact(found)) <= LIMIT
    assert found["truncated"] is True
    assert [(cut["what"], cut["how"]) for cut in found["omitted"]] == [
        ("warnings", "mend the files that the first warnings name"),
        ("skipped", "ask with graph_id"),
        ("decisions", "ask with a smaller limit, or detail=brief; held of the next claim lists every lease"),
    ]
    assert (len(found["warnings"]), found["skipped"]) == (20, [])
    assert [each["node_id"] for each in found["decisions"]] == [f"n{place}" for place in range(len(found["decisions"]))]
    cut = {each["what"]: each["count"] for each in found["omitted"]}
    assert cut == {"warnings": 70, "skipped": 200, "decisions": 100 - len(found["decisions"])}


def test_one_decision_stays_and_its_lists_are_cut() -> None:
    found = fitted(replace(EMPTY, decisions=(decision(1, needed=20_000), decision(2))))
    assert len(compact(found)) <= LIMIT
    assert [each["node_id"] for each in found["decisions"]] == ["n1"]
    assert [cut["what"] for cut in found["omitted"]] == ["decisions", "decisions.*.dispatch_hints.depends_on"]


def laden(made: ScheduleDecision) -> DispatchHints:
    """Hints with more in every list than an answer holds."""
    hints = made.dispatch_hints
    assert hints is not None
    dependency = DependencyInput(
        node_id="d", summary="s" * 500, artifacts=("a" * 4000,) * 9, evidence=("e" * 4000,) * 9
    )
    attempt = AttemptRecord(agent_id="a", at=NOW, outcome="failed", note="n" * 500)
    return replace(hints, inputs=(dependency,) * 99, attempts=(attempt,) * 99, acceptance=("c" * 500,) * 99)


CUT_OF_HINTS = [
    "inputs.*.evidence",
    "inputs.*.artifacts",
    "attempts",
    "inputs",
    "attempts",
    "acceptance",
]


def test_what_others_left_is_cut_before_the_node_and_its_lease() -> None:
    lease = LeaseRecord(
        lease_id="L-1",
        graph_id="g",
        node_id="n1",
        agent_id="a",
        ownership_epoch=1,
        expires_at=NOW,
        mission_id="m",
        session_epoch=1,
    )
    made = decision(1, needed=9)
    given = fitted(replace(EMPTY, decisions=(replace(made, dispatch_hints=laden(made), lease=lease),)))
    started = fitted(WorkStartAnswer(lease=lease, dispatch_hints=laden(made), warnings=(), next_step="n"))
    for found, at in ((given, "decisions.*.dispatch_hints"), (started, "dispatch_hints")):
        assert len(compact(found)) <= LIMIT
        # Whatever the last cut leaves, it was made in this order.
        cut = [each["what"].removeprefix(f"{at}.") for each in found["omitted"]]
        assert cut == ["depends_on", *CUT_OF_HINTS[: len(cut) - 1]]
        assert {each["how"] for each in found["omitted"]} == {"metagit-mcp task show NODE"}
    assert given["decisions"][0]["lease"] == started["lease"] == plain(lease)


def test_leases_that_are_held_are_cut_from_the_end() -> None:
    held = tuple(
        LeaseRecord(
            lease_id=f"L-{number:05}",
            graph_id="g",
            node_id="n",
            agent_id="a",
            ownership_epoch=1,
            expires_at=NOW,
            mission_id="m",
            session_epoch=1,
        )
        for number in range(900)
    )
    found = fitted(replace(EMPTY, held=held))
    assert len(compact(found)) <= LIMIT
    assert found["held"][0]["lease_id"] == "L-00000"
    assert found["omitted"] == [
        {"what": "held", "count": 900 - len(found["held"]), "how": "report on the leases that are shown first"}
    ]


def test_a_policy_of_many_overrides_is_cut_at_the_overrides() -> None:
    overrides = {f"graph-{number:05}": {"priority": 2.0} for number in range(2_000)}
    policy = shown_policy(SchedulePolicy()) | {"graph_overrides": overrides}
    answer = PolicyAnswer(policy=policy, revision="r", changed=False, warnings=(), next_step="n")
    found = fitted(answer)
    assert len(compact(found)) <= LIMIT
    assert list(found["policy"]) == list(policy)
    assert found["omitted"][0]["what"] == "policy.graph_overrides"


def test_a_node_of_many_lines_is_cut_at_the_lines() -> None:
    node = NodeRecord(graph_id="g", node_id="a", title="t", status="ready", acceptance=("x" * 90,) * 900)
    found = fitted(TaskUpdateAnswer(node=node, changed=True, warnings=(), next_step="n"), 5_000)
    assert len(compact(found)) <= 5_000
    assert found["omitted"] == [
        {"what": "node.acceptance", "count": 900 - len(found["node"]["acceptance"]), "how": "read the graph file"}
    ]


@pytest.mark.parametrize("limit", range(400, 4_000, 300))
def test_the_limit_holds_whatever_it_is(limit: int) -> None:
    answer = replace(EMPTY, decisions=tuple(decision(number) for number in range(30)), warnings=("w" * 9,) * 30)
    found = fitted(answer, limit + 600)
    assert len(compact(found)) <= limit + 600


def test_an_answer_without_anything_to_cut_stays_as_it_is() -> None:
    record = fitted(replace(EMPTY, next_step="x" * 900), 500)
    assert record == plain(replace(EMPTY, next_step="x" * 900))
    assert fitted(PolicyAnswer(policy={"groups": 1}, revision="", changed=False, warnings=(), next_step=""), 1)[
        "policy"
    ] == {"groups": 1}


# --- published schemas -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", schema_names())
def test_a_published_schema_is_one(name: str) -> None:
    schema = schema_of(name)
    Draft202012Validator.check_schema(schema)
    assert (schema["$schema"], schema["$id"]) == (
        "https://json-schema.org/draft/2020-12/schema",
        f"metagit://schemas/{name}",
    )


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("policy", {"$schema": "x", "slots": 2, "weights": {"cost": 1}}),
        ("policy", shown_policy(SchedulePolicy())),
        ("task_graph", plain(TaskGraph(title="t", nodes=(task("a", "b", slots=2, deadline=NOW),)))),
        ("decision", plain(decision(1))),
        ("metagit_schedule_next.output", fitted(replace(EMPTY, decisions=(decision(1),)))),
    ],
)
def test_what_we_write_and_read_fits_its_schema(name: str, record: dict[str, Any]) -> None:
    assert list(Draft202012Validator(schema_of(name)).iter_errors(record)) == []
    assert group("g").graph is not None
