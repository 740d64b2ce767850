"""What else holds for the work of a Group: gates, budgets, the limits of policy, and what stands beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import GraphExists, WorkAlreadyOwned
from tests.groups import commands
from tests.groups.answering import state_of
from tests.groups.envelopes import usage
from tests.unit.adapters.reading import node
from tests.unit.application.fed_scene import ME, OTHER, POLICY, START, G, Scene, scene_at

if TYPE_CHECKING:
    from pathlib import Path

    from tests.groups.authority import Item
    from tests.unit.application.fed_scene import Json


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return scene_at(tmp_path)


# --- gates and budgets -----------------------------------------------------------------------------------------------


def test_work_that_needs_an_approval_is_accepted_before_and_started_after_it(scene: Scene) -> None:
    item = scene.offered(ME, approval="human_required")
    gate = "awaiting_approval(in its Group)"
    assert scene.desk.taken(ME) == []
    assert scene.refusal(item).details["reasons"] == [gate]
    scene.accept(item)
    scene.answer()
    assert scene.refusal(item).details["reasons"] == [gate]
    scene.told(commands.approve, item)
    assert scene.reasons(item) == [f"owned(by {ME})"]
    scene.wait(300)
    assert scene.refusal(item).details["reasons"] == [gate]
    scene.told(commands.approve, item)
    scene.start(item)
    assert (scene.answer(), scene.here(item)) == ([], ("active", ME, 1))


def test_a_gate_of_this_workspace_holds_for_the_work_of_a_group(scene: Scene) -> None:
    """A person here approves the next ownership, as the log counts it."""
    scene.desk.put(POLICY, {"gates": {"approval_required_for": ["external"]}})
    item = scene.offered(ME, OTHER, risk="external")
    assert scene.refusal(item).details["reasons"] == ["awaiting_approval"]
    scene.desk.approve(item.work_id, G)
    scene.desk.report(scene.start(item), "released", note="not now")
    assert scene.reasons(item) == [f"not_offered(but to {ME}, {OTHER})"]
    scene.start(item)
    assert (scene.answer(), scene.here(item)) == ([], ("active", ME, 1))


def left(scene: Scene, item: Item, tokens: int) -> None:
    """The gateway says what is left of the item's budget."""
    scene.group.acts += 1
    payload = {"cumulativeUsage": usage(tokens=1, calls=0), "workItemId": item.work_id}
    payload["remainingBudget"] = usage(tokens=tokens, calls=None)
    item.left = {"computeSeconds": 3_600, "modelTokens": tokens}
    scene.group.tell("ext.missionweaveprotocol.core.resource_usage_recorded", payload, work_id=item.work_id)
    scene.way.deliver(scene.desk)


def test_a_lease_may_use_no_more_than_its_group_has_left(scene: Scene) -> None:
    item, lease_id = scene.running(tokens=10_000, calls=None)
    scene.desk.report(lease_id, "running", usage={"tokens": 400})
    scene.desk.report(lease_id, "paused", note="half")
    scene.answer()
    left(scene, item, 50)
    lease = scene.start(item)
    assert dict(state_of(scene.desk).leases[lease].budget or {})["tokens"] == 450


def test_what_is_told_besides_leaves_what_was_said_of_an_offer(scene: Scene) -> None:
    scene.desk.put(POLICY, {"queue_capacity": 0})
    item = scene.offered(ME)
    scene.refusal(item, queue_only=True)
    left(scene, item, 50)
    assert scene.asked == ["work.decline_offer"]


def test_a_budget_of_which_nothing_is_left_gives_no_lease(scene: Scene) -> None:
    item, lease_id = scene.running()
    scene.desk.report(lease_id, "paused", note="half")
    scene.answer()
    left(scene, item, 0)
    assert scene.desk.taken(ME) == []
    assert scene.refusal(item).details["reasons"] == ["budget_exhausted"]


# --- policy ----------------------------------------------------------------------------------------------------------

LIMITS: list[tuple[Json, str, int]] = [
    ({"agent_slots": 9, "groups": {G: {"quota": 1}, "shop": {"quota": 1}}}, "group_quota", 1),
    ({"agent_slots": 9, "slots": 1}, "no_slot", 1),
    ({"agent_slots": 2}, "agent_slots", 2),
]


@pytest.mark.parametrize(("policy", "reason", "most"), LIMITS)
@pytest.mark.parametrize("is_fed", [True, False])
def test_limits_of_policy_hold_for_fed_work_as_for_task_graphs(
    scene: Scene, policy: Json, reason: str, most: int, *, is_fed: bool
) -> None:
    scene.desk.put(POLICY, policy)
    for _ in range(3):
        if is_fed:
            scene.offered(ME)
    if not is_fed:
        scene.desk.graph("shop", *(node(f"n{number}") for number in range(3)))
    assert len(scene.desk.taken(ME, limit=9)) == most
    answer = scene.desk.claim(ME)
    counted = {each["reason"]: each["nodes"] for each in answer["not_eligible"]}
    assert (answer["decisions"], counted) == ([], {reason: 3 - most, "leased": most})


@pytest.mark.parametrize(("scope", "name"), [("workspace", ""), ("group", G), ("agent", ME)])
def test_nothing_new_starts_while_it_is_paused(scene: Scene, scope: Any, name: str) -> None:  # noqa: ANN401 - a literal
    item = scene.offered(ME)
    scene.desk.pause(scope, name)
    assert scene.desk.taken(ME) == []
    assert scene.refusal(item).message.startswith(f"Node {item.work_id} may not be started: paused({scope}")
    scene.desk.resume(scope, name)
    assert scene.desk.taken(ME) == [item.work_id]


# --- beside task graphs and other Groups -----------------------------------------------------------------------------


def test_a_group_and_a_task_graph_take_turns(scene: Scene) -> None:
    scene.desk.graph("shop", *(node(f"n{number}", priority=50) for number in range(4)))
    for _ in range(4):
        scene.offered(ME, OTHER, urgency=50, deadline="2026-08-15T08:00:00Z")
    starts = []
    for number in range(8):
        (decision,) = scene.desk.claim((ME, OTHER)[number % 2])["decisions"]
        starts.append((decision["graph_id"], decision["node_id"]))
        scene.desk.report(decision["lease"]["lease_id"], "completed")
    own = [(G, each) for each in ("cli:implementation", "cli:requirements", "cli:review", "cli:tests")]
    shop = [("shop", f"n{number}") for number in range(4)]
    assert starts == [each for pair in zip(own, shop, strict=True) for each in pair]


def test_advice_asks_a_group_for_nothing(scene: Scene) -> None:
    items = [scene.offered(ME) for _ in range(2)]
    before = state_of(scene.desk).branch()
    advised = [each["node_id"] for each in scene.desk.next(agent_id=ME, limit=2)["decisions"]]
    assert sorted(advised) == sorted(item.work_id for item in items)
    assert state_of(scene.desk) == before
    assert scene.way.outbox(scene.desk) == []


def test_advice_to_one_agent_leaves_the_order_of_all_others(scene: Scene) -> None:
    """What is offered to one agent alone makes it a pool of its own, until its start is tried out."""
    scene.desk.graph("shop", node("api"), node("ui", depends_on=["api"]))
    scene.offered()
    item = scene.offered()
    lease_id = scene.desk.lease(ME)
    assert scene.desk.next()["decisions"] == []
    scene.told(commands.offer, item, OTHER)
    scene.desk.report(lease_id, "completed")
    assert len(scene.desk.next(agent_id=OTHER, limit=2)["decisions"]) == 2
    assert [each["node_id"] for each in scene.desk.next()["decisions"]] == ["ui"]


def test_fed_work_stands_in_no_file(scene: Scene) -> None:
    scene.desk.graph("shop", node("n"))
    _, lease_id = scene.running()
    scene.desk.report(lease_id, "completed")
    scene.answer()
    scene.desk.flush()
    assert [path.name for path in scene.desk.path("tasks/graphs").iterdir()] == ["shop.json"]
    assert scene.desk.statuses("shop") == {"n": "pending"}


def test_a_group_changes_nothing_of_another_with_the_same_names(scene: Scene) -> None:
    other = Scene(scene.desk, "group:web")
    item, lease_id = scene.running()
    same = other.offered(ME)
    assert item.work_id == same.work_id
    before = scene.item(item)
    other.told(commands.cancel, same)
    assert (scene.item(item), scene.item(item).lease_id, scene.asked) == (before, lease_id, [])
    assert other.here(same) == ("cancelled", None, 0)


def test_a_group_has_not_the_name_of_a_graph_whose_file_is_gone(scene: Scene) -> None:
    desk = scene.desk
    path = desk.graph("g", node("cli:requirements"), node("x"))
    lease_id = desk.start("x", ME)["lease"]["lease_id"]
    desk.flush()
    path.unlink()
    with pytest.raises(GraphExists, match="g is a task graph"):
        Scene(desk, "g").offered(ME)
    assert (lease_id in state_of(desk).leases, state_of(desk).feeds) == (True, {})


def test_two_processes_work_on_one_group(scene: Scene) -> None:
    beside = scene.desk.beside(capabilities=frozenset({"software.python"}))
    item = scene.offered(ME, OTHER)
    scene.accept(item)
    with pytest.raises(WorkAlreadyOwned):
        beside.start(item.work_id, OTHER)
    scene.way.carry_all(beside)
    scene.way.deliver(beside)
    assert beside.taken(ME) == [item.work_id]
    assert (scene.asked, scene.here(item)) == ([START], ("active", ME, 1))
