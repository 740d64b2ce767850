"""`metagit-mcp import …` from the command line: what is asked, what a person reads, what a script gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.lists.import_answers import ImportAnswer, ImportRequest
from tests.interfaces.cli.fake_import import ANSWER

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interfaces.cli.conftest import Ended

TEXT = """\
Imported .beads/issues.jsonl (beads):
Graphs:
  graph  records  created  updated  unchanged  stale skipped  kept here  vanished  held
  shop         4        2        1          0              0          1         1     1
Edges of shop:
  kind    became      count
  blocks  depends_on      3
Edges of shop that lead to nothing:
  kind     count  why
  related      2  nothing waits for it
Entries of shop left out:
  kind    count  why
  memory      1  no task
Nodes of shop:
  node    outcome    fields
  shop-9  vanished
  shop-3  kept here  status, title
warning: issues.jsonl, line 3: priority: is missing: P2 is taken
warning: 2 more warnings
next step: metagit-mcp schedule next shows what can be started.
"""


def test_what_a_person_reads(run: Callable[..., Ended]) -> None:
    ended = run("import", "beads", "x", imports_run=ANSWER)
    assert (ended.code, ended.out, ended.err) == (0, TEXT, "")


def test_a_dry_run_says_that_it_is_one(run: Callable[..., Ended]) -> None:
    fields = {name: getattr(ANSWER, name) for name in ("system", "source", "warnings_omitted", "next_step")}
    dry = ImportAnswer(dry_run=True, graphs=(), warnings=(), **{**fields, "warnings_omitted": 0})
    ended = run("import", "beads", "x", "--dry-run", imports_run=dry)
    assert ended.out.splitlines()[0] == "Would import .beads/issues.jsonl (beads):"


def test_a_script_gets_the_whole_answer_on_one_line(run: Callable[..., Ended]) -> None:
    ended = run("import", "beads", "x", "--json", imports_run=ANSWER)
    assert (ended.code, ended.record) == (0, plain(ANSWER))


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        (("beads", "x"), {"system": "beads"}),
        (("beads", "x", "--graph-id", "g", "--dry-run"), {"system": "beads", "graph_id": "g", "dry_run": True}),
        (("taskmaster", "x", "--tag", "a b"), {"system": "taskmaster", "tag": "a b"}),
        (("backlog", "x", "--strict"), {"system": "backlog", "strict": True}),
    ],
)
def test_what_is_asked(run: Callable[..., Ended], words: tuple[str, ...], fields: dict[str, object]) -> None:
    known: dict[str, object] = {"path": "x", **fields}
    (asked,) = run("import", *words, imports_run=ANSWER).asked
    assert asked == ("imports.run", (ImportRequest(**known),))  # type: ignore[arg-type]  # as the cases say


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (("beads", "x", "--tag", "a"), "--tag"),
        (("beads", "x", "--strict"), "--strict"),
        (("taskmaster", "x", "--strict"), "--strict"),
        (("backlog", "x", "--tag", "a"), "--tag"),
        (("beads", ""), "path"),
        (("beads",), "path"),
        (("beads", "x", "--graph-id", ""), "graph_id"),
        (("beads", "x", "--graph-id", "a/b"), "graph_id"),
        (("beads", "x", "--dry-run=perhaps"), "dry_run"),
    ],
)
def test_what_is_refused(run: Callable[..., Ended], words: tuple[str, ...], field: str) -> None:
    ended = run("import", *words, "--json", imports_run=ANSWER)
    assert (ended.code, ended.record["details"]["field"], ended.asked) == (2, field, [])
