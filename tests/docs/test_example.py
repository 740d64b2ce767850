"""The example that docs/explanation/fairness.md works out by hand is what the scheduler does."""

from __future__ import annotations

import re

from metagit_mcp.domain.policy import ClassWeights, GroupPolicy, SchedulePolicy
from metagit_mcp.domain.shares import LCM, ROOT
from tests.docs.pages import ROOT as REPOSITORY
from tests.snapshots import group, task
from tests.unit.scheduling.claimed import Played

PAGE = REPOSITORY / "docs" / "explanation" / "fairness.md"
POLICY = SchedulePolicy(
    classes=ClassWeights(high=2, normal=1),
    groups={"hot": GroupPolicy(priority_class="high"), "big": GroupPolicy(weight=2)},
    deadline_window=0,
)
HOT = group("hot", *(task(f"h{number}", estimated_tokens=2_000) for number in range(1, 6)))
BIG = group("big", *(task(f"b{number}") for number in range(1, 6)))
SMALL = group("small", *(task(f"s{number}") for number in range(1, 4)))
LATE = group("late", *(task(f"t{number}") for number in range(1, 4)))


def rows() -> list[tuple[str, tuple[float | None, ...]]]:
    """What happens in each line of the page's table, and the numbers after it."""
    found = re.search(r"<!-- played -->\n(.*?)<!-- end -->", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in found[1].splitlines() if line.startswith("|")]
    assert cells[0] == ["", "what happens", "V", "high", "normal", "V of normal", "big", "small", "late"]
    return [(row[1], tuple(float(cell) if cell else None for cell in row[2:])) for row in cells[2:]]


def play(played: Played, line: str) -> None:
    """Let a line of the table happen."""
    words = line.replace("`", "").split()
    graph_id, _, node_id = words[0].partition("/")
    if words[1:] == ["starts"]:
        assert played.claim() == words[0]
    elif words[1:] == ["starts", "by", "its", "id"]:
        played.start(graph_id, node_id)
    elif words[1:4] == ["ends", "and", "used"]:
        played.end(graph_id, node_id, int(words[4]) * 1_000)
    else:
        assert line == "`late` comes, weight 1"
        played.with_graphs(HOT, BIG, SMALL, LATE)


def tags(played: Played) -> tuple[float | None, ...]:
    """The numbers of a line as the ledger has them."""
    root, normal = (played.pool().levels[name] for name in (ROOT, "normal"))
    flows = [root.flows["high"], root.flows["normal"], *map(normal.flows.get, ("big", "small", "late"))]
    high, low, *groups = (None if flow is None else flow.tag / LCM for flow in flows)
    return (root.virtual / LCM, high, low, normal.virtual / LCM, *groups)


def test_the_example_goes_as_its_page_shows() -> None:
    played = Played(HOT, BIG, SMALL, policy=POLICY)
    for line, expected in rows():
        play(played, line)
        assert (line, tags(played)) == (line, expected)


def test_the_example_has_its_lines() -> None:
    lines = [line for line, _ in rows()]
    assert (len(lines), lines[0], lines[-1]) == (11, "`hot/h1` starts", "`small/s2` starts by its id")
