"""In which order work is given to whom: the requirements C of docs/reference/conformance.md."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from metagit_mcp.domain.limits import ResourcePolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.errors import AuthForbidden, InvalidInput
from tests.requirements.asked import desk_of
from tests.snapshots import NOW, group, names, queue_of, task
from tests.unit.adapters.reading import node
from tests.unit.scheduling.claimed import Played

PRESSING: dict[str, Any] = {
    "priority": 1_000_000,
    "requested_urgency": "critical",
    "business_impact": "critical",
    "deadline": NOW - timedelta(days=1),
}


def graph(graph_id: str, count: int, **fields: Any) -> LoadedGraph:  # noqa: ANN401 - any field of a node
    return group(graph_id, *(task(f"n{number:03}", **fields) for number in range(count)))


def played(*graphs: LoadedGraph, **groups: GroupPolicy) -> Played:
    return Played(*graphs, policy=SchedulePolicy(groups=groups))


def services(fleet: Played, count: int) -> Counter[str]:
    """How often each Group was served in so many claims of work that never ends."""
    return Counter(str(each).split("/", maxsplit=1)[0] for each in fleet.claims(count))


def waited(policy: SchedulePolicy) -> int | None:
    """How many newer nodes of its Group a node lets pass that is behind all of them."""
    old = task("old", priority=-1_000_000)
    fleet = Played(group("g", old, task("first")), policy=policy)
    assert fleet.claim() == "g/first"
    fleet.with_graphs(group("g", old, task("first"), *(task(f"n{number:03}", **PRESSING) for number in range(60))))
    given = fleet.claims(40)
    return given.index("g/old") + 1 if "g/old" in given else None


def test_what_a_coordinator_says_does_not_move_its_mission_ahead() -> None:
    """Claims C1."""
    fleet = played(graph("loud", 200, **PRESSING), graph("quiet", 200, priority=-1_000_000))
    served = services(fleet, 200)
    # Within the window of eight units, and no more of it however long it goes on.
    assert abs(served["loud"] - served["quiet"]) <= 8 + 1


@pytest.mark.parametrize(("weights", "shares"), [((1, 1), (60, 60)), ((1, 3), (30, 90)), ((16, 8), (80, 40))])
def test_groups_are_served_by_weight(weights: tuple[int, int], shares: tuple[int, int]) -> None:
    """Claims C2."""
    groups = dict(zip("ab", (GroupPolicy(weight=weight) for weight in weights), strict=True))
    served = services(played(graph("a", 150), graph("b", 150), **groups), 120)
    assert all(abs(served[name] - share) <= 8 for name, share in zip("ab", shares, strict=True))


def test_nobody_starves_neither_a_group_nor_a_node() -> None:
    """Claims C3."""
    others = [graph(f"c{number}", 100, **PRESSING) for number in range(3)]
    classes = {each.graph_id: GroupPolicy(priority_class="critical") for each in others}
    fleet = played(*others, graph("last", 3), last=GroupPolicy(priority_class="low"), **classes)
    order = [str(each).split("/", maxsplit=1)[0] for each in fleet.claims(60)]
    # A low class has one start in seventeen beside a critical one.
    assert [order[at : at + 18].count("last") > 0 for at in range(0, 36, 18)] == [True, True]
    assert waited(SchedulePolicy()) == 20


@pytest.mark.parametrize(
    ("graphs", "groups", "first"),
    [
        ((graph("a", 1), graph("b", 1)), {"b": GroupPolicy(priority_class="critical")}, "b/n000"),
        ((graph("a", 1), graph("b", 1, deadline=NOW)), {}, "b/n000"),
        ((graph("a", 1), graph("b", 1)), {"a": GroupPolicy(quota=0)}, "b/n000"),
        ((graph("a", 1, risk="destructive"), graph("b", 1)), {}, "b/n000"),
        ((graph("a", 1, uses={"none": 1}), graph("b", 1)), {}, "b/n000"),
    ],
    ids=["class", "deadline", "quota", "gate", "resource"],
)
def test_class_deadline_quota_gates_and_resources_count(
    graphs: tuple[LoadedGraph, ...], groups: dict[str, GroupPolicy], first: str
) -> None:
    """Claims C4.

    Aging is the pass-over guard, which C3 is about.
    """
    policy = SchedulePolicy(groups=groups, resources={"none": ResourcePolicy(capacity=0)})
    assert Played(*graphs, policy=policy).claim() == first


def test_the_highest_priority_is_not_first_for_ever() -> None:
    """Claims C5."""
    fleet = played(graph("a", 100, **PRESSING), group("b", task("low", priority=-1_000_000)))
    assert "b/low" in fleet.claims(12)
    assert (waited(SchedulePolicy(pass_over_limit=5)), waited(SchedulePolicy(pass_over_limit=0))) == (5, None)


def test_a_change_of_priority_counts_at_the_next_claim(tmp_path: Path) -> None:
    """Claims C6."""
    desk = desk_of(tmp_path, node("a"), node("b"), node("c"))
    assert desk.taken("w1") == ["a"]
    desk.set_row("c", priority=1, updated_at="2026-12-01T12:00:01Z")
    assert desk.next(agent_id="w2")["decisions"][0]["node_id"] == "c"
    desk.update("b", priority=2)
    assert (desk.taken("w2"), desk.taken("w3")) == (["b"], ["c"])


def test_only_policy_raises_a_class_and_only_its_owner_sets_that(tmp_path: Path) -> None:
    """Claims C7."""
    desk = desk_of(tmp_path, node("a"))
    patch = '{"groups": {"g": {"class": "critical"}}}'
    with pytest.raises(AuthForbidden):
        desk.policy("set", patch=patch)
    with pytest.raises(InvalidInput):
        desk.update("a", priority_class="critical")
    assert desk.policy()["policy"]["groups"] == {}
    assert desk.beside(operator="ada").policy("set", patch=patch)["policy"]["groups"]["g"]["class"] == "critical"


def test_the_order_knows_no_word_of_what_the_work_is_about() -> None:
    """Claims C8."""
    words: dict[str, Any] = {"title": "secret", "acceptance": ("secret",), "business_impact": "secret"}
    named = ("d", "b", "c", "a")
    without = [task(name, priority=len(name), estimated_tokens=1000) for name in named]
    with_words = [replace(each, **words) for each in without]
    with_some = [replace(each, title=each.node_id * 9) for each in without]
    orders = [names(queue_of(group("g", *nodes))) for nodes in (without, with_words, with_some)]
    assert orders == [["a", "b", "c", "d"]] * 3
