"""What a Group is told of its schedule, asked and unasked: in words, and only when there is news."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.application.turns import disclosure
from metagit_mcp.application.turns.shared import View
from metagit_mcp.domain.feed_events import EstimatePublished
from metagit_mcp.domain.feeds import Feed, Told
from metagit_mcp.domain.limits import DisclosurePolicy, PreemptionPolicy
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.errors import GroupNotFound, NodeNotFound
from metagit_mcp.scheduling.estimate import StartWindow
from metagit_mcp.wire.estimate_answers import EstimateAnswer, EstimateRequest
from tests.groups.offered import CODER, at_the_beginning, deliver, offering
from tests.scenarios.at_once import finished
from tests.snapshots import NOW, group, known, ledger, pause, queue_of, task
from tests.unit.application.test_fed_graphs import image

if TYPE_CHECKING:
    from datetime import datetime

    from metagit_mcp.domain.state import LedgerState
    from metagit_mcp.domain.tasks import LoadedGraph
    from tests.unit.application.desk import Desk

FEW = DisclosurePolicy(max_groups=2, max_cost=1)
POLICY = SchedulePolicy(slots=2, deadline_window=0, disclosure=FEW, preemption=PreemptionPolicy(enabled=False))
MINUTE = timedelta(minutes=1)


def view_of(*graphs: LoadedGraph, work: LedgerState | None = None, policy: SchedulePolicy = POLICY) -> View:
    work = work or ledger()
    queue = queue_of(*graphs, policy=policy, work=work)
    return View(image=image(*graphs), policy=policy, queue=queue, now=NOW, work=work)


# --- asked -----------------------------------------------------------------------------------------------------------


def test_a_group_is_told_of_a_node_of_its_own() -> None:
    found = disclosure.estimate(view_of(group("g", task("a")), group("h", task("b"))), "g", "a")
    assert found == EstimateAnswer(
        group_id="g",
        node_id="a",
        confidence=0.5,
        capacity_status="available",
        last_calculated_at=NOW,
        estimated_start=StartWindow(earliest=NOW, latest=NOW + 5 * MINUTE),
        estimated_completion=NOW + 10 * MINUTE,
        warnings=(),
        next_step="Ask again when the Group's work has changed: what is told rests on its own queue as it is now.",
    )


def test_what_cannot_be_told_is_said_with_its_reason() -> None:
    found = disclosure.estimate(view_of(group("g", task("a"), task("b", status="blocked"))), "g")
    assert found.warnings == ("no end can be told: a person has to act first, for this or for what it waits for",)
    assert found.estimated_start is not None
    stuck = disclosure.estimate(view_of(group("g", task("a", status="blocked"))), "g", "a")
    assert stuck.warnings == ("no start can be told: a person has to act first, for this or for what it waits for",)
    assert stuck.next_step == "metagit_schedule_status with node_id says what it waits for."
    done = disclosure.estimate(view_of(group("g", task("a", status="completed"))), "g")
    assert (done.warnings, done.next_step) == (
        ("no start can be told: all of it is finished: there is nothing to estimate",),
        "Nothing need be done.",
    )


@pytest.mark.parametrize("node_id", ["a", None])
@pytest.mark.parametrize("needs", [{"uses": {"gpu": 1}}, {"exclusive": ("key",)}, {"touches": ("src/*",)}])
def test_waits_that_are_not_counted_are_named(node_id: str | None, needs: dict[str, Any]) -> None:
    found = disclosure.estimate(view_of(group("g", task("a", **needs), task("b"))), "g", node_id)
    assert found.warnings == ("not counted: waits for resources, exclusive keys and write scopes that others may hold",)


@pytest.mark.parametrize(("scope", "name"), [("workspace", ""), ("group", "g")])
def test_nothing_starts_while_scheduling_is_paused(scope: str, name: str) -> None:
    found = disclosure.estimate(view_of(group("g", task("a")), work=ledger(pause(scope, name))), "g")
    assert (found.capacity_status, found.estimated_start) == ("blocked", None)
    assert found.warnings == ("no start can be told: scheduling is paused, and nobody knows for how long",)


def test_a_pause_of_others_is_none_of_its_own() -> None:
    work = ledger(pause("group", "h"), pause("agent", "g"))
    found = disclosure.estimate(view_of(group("g", task("a")), work=work), "g")
    assert found.capacity_status == "available"


def test_an_unknown_group_or_node_names_no_other() -> None:
    view = view_of(group("g", task("a")), group("secret", task("hidden")))
    with pytest.raises(GroupNotFound) as caught:
        disclosure.estimate(view, "h")
    assert (caught.value.message, caught.value.hint) == ("There is no Group h.", "Check its id.")
    with pytest.raises(NodeNotFound) as missing:
        disclosure.estimate(view, "g", "hidden")
    assert missing.value.message == "The Group has no node hidden."
    assert "secret" not in str(missing.value.as_record())


# --- unasked ---------------------------------------------------------------------------------------------------------


AT = NOW - 10 * MINUTE


def told(*, at: datetime = AT, begin: int = 0, to: int = 20, end: int = 40, status: Any = "queued") -> Told:  # noqa: ANN401 - a literal
    """What was told at an instant, in minutes from then."""
    ends = {"start_from": at + begin * MINUTE, "start_to": at + to * MINUTE, "completion": at + end * MINUTE}
    return Told(at=at, capacity_status=status, **ends)


def event(of: Told) -> EstimatePublished:
    names: dict[str, Any] = {"graph_id": "g", "node_id": "a", "agent_id": "w1", "confidence_percent": 50}
    ends = {name: getattr(of, name) for name in ("at", "start_from", "start_to", "completion", "capacity_status")}
    return EstimatePublished(**names, **ends)


@pytest.mark.parametrize(
    ("before", "now", "is_news"),
    [
        (None, told(at=NOW), True),
        # Time that passes is no news, and figures are compared from their own instant on.
        (told(), told(at=NOW), False),
        (told(), told(at=NOW, status="available"), True),
        (told(), told(at=NOW, begin=5), True),
        (told(), told(at=NOW, to=40), True),
        (told(), told(at=NOW, end=80), True),
        # It is past, and did not start.
        (told(to=9), told(at=NOW, to=9), True),
        (told(to=10), told(at=NOW, to=10), False),
        # It started, which is told once, until it should be over.
        (told(status="available"), told(at=NOW, begin=-1, to=-1, status="available"), True),
        (told(begin=1, to=1), told(at=NOW, begin=-9, to=-9), False),
        (told(begin=1, to=1, end=9), told(at=NOW, begin=-9, to=-9), True),
    ],
)
def test_only_what_changed_materially_is_told_again(before: Told | None, now: Told, *, is_news: bool) -> None:
    assert disclosure.is_material(before, event(now)) is is_news


@pytest.fixture
def fed(desk: Desk) -> Desk:
    """A Group with two WorkItems that its members may accept."""
    desk.put(
        "schedule/policy.json",
        {"slots": 2, "disclosure": {"max_groups": 2}, "agents": {"*": {"capabilities": ["software.python"]}}},
    )
    at_the_beginning(desk)
    deliver(desk, offering(items=2).log)
    return desk


def published(desk: Desk) -> list[tuple[str, str, bool]]:
    """The WorkItem, its status and whether it has started, of each estimate in the outbox."""
    feed = desk.application.current.state.feeds["group:cli"]
    told = [each for each in feed.outbox.values() if each.command == "schedule.estimate"]
    return [
        (
            each.node_id,
            str(each.payload["capacityStatus"]),
            each.payload["estimatedStartFrom"] == each.payload["estimatedStart"],
        )
        for each in told
    ]


def test_accepted_work_is_told_of_until_it_is_done(fed: Desk) -> None:
    assert published(fed) == []
    fed.start("cli:implementation", CODER, queue_only=True)
    assert published(fed) == [("cli:implementation", "queued", False)]
    fed.wait(60)
    lease_id = fed.start("cli:implementation", CODER)["lease"]["lease_id"]
    assert published(fed) == [("cli:implementation", "available", True)]
    fed.report(lease_id, "completed")
    feed = fed.application.current.state.feeds["group:cli"]
    # It started and was done as told; the Group hears nothing new of it.
    assert (feed.told, feed.came_true, feed.failed_to) == ({}, 2, 0)
    answer = finished(
        fed.application.groups.estimate(EstimateRequest(group_id="group:cli", node_id="cli:requirements"))
    )
    assert (answer.confidence, answer.capacity_status, answer.warnings) == (0.75, "queued", ())


def test_what_did_not_change_is_not_told_twice(fed: Desk) -> None:
    fed.start("cli:implementation", CODER, queue_only=True)
    before = [*fed.application.current.state.feeds["group:cli"].outbox]
    fed.wait(60)
    fed.start("cli:requirements", CODER, queue_only=True)
    after = [*fed.application.current.state.feeds["group:cli"].outbox]
    assert after[: len(before)] == before
    assert published(fed) == [("cli:implementation", "queued", False), ("cli:requirements", "queued", False)]


def test_without_a_window_nothing_is_told(fed: Desk) -> None:
    fed.put("schedule/policy.json", {"agents": {"*": {"capabilities": ["software.python"]}}})
    fed.start("cli:implementation", CODER, queue_only=True)
    assert published(fed) == []


def test_without_a_policy_nothing_can_be_told(fed: Desk) -> None:
    lease_id = fed.start("cli:implementation", CODER)["lease"]["lease_id"]
    fed.put("schedule/policy.json", {"slotz": 1})
    fed.report(lease_id, "released")
    assert published(fed) == [("cli:implementation", "available", True)]


def test_nothing_is_due_for_a_graph_of_a_file_or_nobody() -> None:
    owned = known("a", "queued", owner="w1")
    view = view_of(group("g", task("a")), work=ledger(owned))
    assert [*disclosure.due_estimates(view, "g"), *disclosure.due_estimates(view, "h")] == []
    # A Group of Events of which nobody here has accepted anything.
    view.work.feeds["g"] = Feed(group_id="g")
    assert [*disclosure.due_estimates(view, "g")] == []
