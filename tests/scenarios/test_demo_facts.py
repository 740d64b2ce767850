"""The facts of the demo: each must fail when what is seen differs, or the demo would pass whatever happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.interfaces.demo import CHAPTERS
from metagit_mcp.interfaces.demo.account import account_of
from metagit_mcp.interfaces.demo.facts import MISSING, Fact, at_path, difference

if TYPE_CHECKING:
    from collections.abc import Iterator

FACTS = [fact for chapter in CHAPTERS for fact in chapter.facts]

# --- every fact can fail -----------------------------------------------------------------------------------------


def planted(path: str, found: Any) -> Any:  # noqa: ANN401 - any JSON value
    """The smallest thing at whose `path` stands `found`."""
    head, _, rest = path.partition(".")
    if head == "*":
        return [planted(rest, item) for item in found]
    if "," in head:
        return dict(zip(head.split(","), found, strict=True))
    below = planted(rest, found) if rest else found
    return [*[None] * int(head), below] if head.isdigit() else {head: below}


def others(found: Any) -> Iterator[Any]:  # noqa: ANN401 - any JSON value
    """Values that are nearly `found`: one part changed, missing, doubled or in another place."""
    if isinstance(found, list):
        for place, item in enumerate(found):
            yield from ([*found[:place], other, *found[place + 1 :]] for other in others(item))
        yield from (found[:-1], [*found, found[-1]]) if found else ([0], [[]])
        if found[::-1] != found:
            yield found[::-1]
    elif isinstance(found, bool):
        yield not found
    elif isinstance(found, str):
        yield from (f"{found}x", f"x{found}", found.swapcase() or "-")
    else:
        yield from (found + 1, found - 0.000001)


def seeable(path: str, found: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Whether an answer could show `found` there: names taken together come with their number."""
    names = path.rsplit(".", 1)[-1].count(",") + 1
    if names == 1:
        return True
    rows = found if "*" in path else [found]
    return all(len(row) == names for row in rows)


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact.step}: {fact.path}")
def test_a_fact_holds_for_its_value_and_fails_for_every_other(fact: Fact) -> None:
    assert difference(fact, planted(fact.path, fact.expected)) is None
    tried = [other for other in others(fact.expected) if seeable(fact.path, other)]
    assert tried != []
    assert [other for other in tried if difference(fact, planted(fact.path, other)) is None] == []


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact.step}: {fact.path}")
@pytest.mark.parametrize("seen", [{}, {"code": "INTERNAL_ERROR"}, [], None], ids=repr)
def test_a_fact_fails_where_there_is_nothing_to_see(fact: Fact, seen: object) -> None:
    assert difference(fact, seen) is not None


def test_every_step_has_a_fact_and_every_fact_a_step() -> None:
    for chapter in CHAPTERS:
        assert list(dict.fromkeys(fact.step for fact in chapter.facts)) == [step.name for step in chapter.steps]
    names = [step.name for chapter in CHAPTERS for step in chapter.steps]
    assert len(set(names)) == len(names)


def test_no_two_facts_are_about_the_same_place() -> None:
    assert len({(fact.step, fact.path) for fact in FACTS}) == len(FACTS)
    assert len({fact.says for fact in FACTS}) == len(FACTS)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a", [{"b": 1, "c": 2}, {"b": 3}]),
        ("a.*.b", [1, 3]),
        ("a.*.c", [2, MISSING]),
        ("a.*.b,c", [[1, 2], [3, MISSING]]),
        ("a.1.b", 3),
        ("a.2.b", MISSING),
        ("a.b", MISSING),
        ("d", MISSING),
        ("d.*.e", MISSING),
    ],
)
def test_a_path_finds_what_stands_there(path: str, found: object) -> None:
    assert at_path({"a": [{"b": 1, "c": 2}, {"b": 3}]}, path) == found


@pytest.mark.parametrize(("expected", "seen"), [(1, True), (1, 1.0), (True, 1), ([], {}), ("1", 1)])
def test_values_of_different_kinds_are_different(expected: object, seen: object) -> None:
    assert difference(Fact("step", "a", expected, "says"), {"a": seen}) is not None


# --- how it is counted -------------------------------------------------------------------------------------------


def started(lease_id: str, agent_id: str, epoch: int = 1) -> tuple[str, dict[str, Any]]:
    lease = {"lease_id": lease_id, "node_id": "n", "agent_id": agent_id, "ownership_epoch": epoch}
    return "work_started", {"lease": lease}


def test_the_account_follows_each_lease_to_its_end() -> None:
    events = [
        started("L-1", "ada"),
        ("work_returned", {"node_id": "n"}),
        started("L-2", "ada"),
        ("lease_expired", {"lease_id": "L-2"}),
        started("L-3", "bob", 2),
        ("work_completed", {"lease_id": "L-3"}),
        ("lease_renewed", {"lease_id": "L-3"}),
    ]
    starts = [["ada", 1], ["ada", 1], ["bob", 2]]
    assert account_of(events) == {"n": {"starts": starts, "done": 1, "done_by": ["bob"], "at_once": 1}}


def test_the_account_sees_two_at_once_and_what_is_done_twice() -> None:
    ends = [("work_completed", {"lease_id": name}) for name in ("L-1", "L-2")]
    counted = account_of([started("L-1", "ada"), started("L-2", "bob"), *ends])
    assert (counted["n"]["at_once"], counted["n"]["done"], counted["n"]["done_by"]) == (2, 2, ["ada", "bob"])
