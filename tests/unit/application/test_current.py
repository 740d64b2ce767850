"""What is asked is answered from the newest files, and what did not change is kept."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING, TypeVar

import pytest

from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.errors import GraphInvalid, GraphNotFound, NodeAmbiguous, NodeNotFound, PolicyInvalid
from metagit_mcp.ports.workspace import WorkspaceImage
from metagit_mcp.scheduling.snapshot import Surroundings
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node
from tests.unit.application.alone import current_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.application.desk import Desk

R = TypeVar("R")
SECONDS = 30


def test_an_image_and_its_queue_are_kept_until_a_file_changes(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.graph("h", node("a"))
    first, again = finished(desk.application.current.view()), finished(desk.application.current.view())
    assert again.image is first.image
    assert again.queue is first.queue
    assert again.queue.groups["g"] is first.queue.groups["g"]
    groups = dict(first.queue.groups)
    desk.graph("g", node("b"))
    after = finished(desk.application.current.view())
    assert after.image is not first.image
    assert after.image.graphs["h"] is first.image.graphs["h"]
    assert (after.queue.groups["g"] is groups["g"], after.queue.groups["h"] is groups["h"]) == (False, True)


def test_a_policy_that_cannot_be_used_stops_what_needs_one_and_nothing_else(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    assert desk.next(preview=True)["runnable_count"] == 2
    desk.put("schedule/policy.json", {"slotz": 1})
    errors = []
    for ask in (desk.next, desk.next, desk.status, desk.policy):
        with pytest.raises(PolicyInvalid) as caught:
            ask()
        errors.append(caught.value)
    assert [error.details for error in errors] == [{"field": "slotz"}] * 4
    assert len(set(map(id, errors))) == 4
    assert desk.update("a", status="completed")["changed"] is True
    assert desk.shown("a")["status"] == "completed"
    desk.put("schedule/policy.json", {"slots": 1})
    assert desk.next(preview=True)["runnable_count"] == 1


def test_a_graph_that_is_not_there_or_broken_is_told_with_what_there_is(desk: Desk) -> None:
    with pytest.raises(GraphNotFound) as caught:
        desk.next(graph_id="g")
    assert caught.value.hint == "There is no graph yet: plan one with metagit_task_plan."
    for number in range(12):
        desk.graph(f"g{number:02d}", node("a"))
    with pytest.raises(GraphNotFound) as caught:
        desk.next(graph_id="g")
    names = ", ".join(f"g{number:02d}" for number in range(10))
    assert caught.value.hint == f"Known graphs: {names} and 2 more."
    desk.path("tasks/graphs/list.json").write_text("[]")
    with pytest.raises(GraphInvalid, match="graph list: the file must hold one JSON object"):
        desk.next(graph_id="list")
    assert desk.status(graph_id="list")["groups"][0]["state"] == "invalid"
    with pytest.raises(GraphNotFound):
        desk.status(graph_id="g")


def test_a_node_is_found_by_its_id_alone_where_that_says_enough(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.graph("h", node("a"))
    desk.path("tasks/graphs/torn.json").write_text("{")
    assert (desk.shown("b")["graph_id"], desk.shown("a", "h")["graph_id"]) == ("g", "h")
    with pytest.raises(NodeAmbiguous) as ambiguous:
        desk.shown("a")
    assert ambiguous.value.details == {"node_id": "a", "graphs": ["g", "h"]}
    assert ambiguous.value.hint == "Pass graph_id, one of: g, h."
    for graph_id in (None, "h"):
        with pytest.raises(NodeNotFound):
            desk.shown("c", graph_id)
    with pytest.raises(GraphNotFound):
        desk.shown("a", "i")
    with pytest.raises(GraphInvalid):
        desk.shown("a", "torn")


class SlowSource:
    """A source that always changed; its second reading goes on only when told so."""

    def __init__(self) -> None:
        self.reads = 0
        self.second_began, self.may_go_on = Event(), Event()

    def changed(self) -> bool:
        return True

    def read(self) -> WorkspaceImage:
        self.reads += 1
        number = self.reads
        if number == 2:
            self.second_began.set()
            assert self.may_go_on.wait(SECONDS)
        return WorkspaceImage(
            policy=SchedulePolicy(),
            policy_error=None,
            revision="",
            graphs={},
            surroundings=Surroundings(),
            approvals={},
            state_version=str(number),
            warnings=(),
        )


async def test_who_comes_while_others_read_waits_for_what_they_find() -> None:
    source = SlowSource()
    calls = 0

    async def offload(blocking: Callable[[], R]) -> R:
        nonlocal calls
        calls += 1
        number = calls
        found = await asyncio.to_thread(blocking)
        if number == 1:
            # The next one holds the lock by the time the first looks again.
            assert await asyncio.to_thread(source.second_began.wait, SECONDS)
            source.may_go_on.set()
        return found

    current = current_over(source, offload)
    async with asyncio.timeout(SECONDS):
        views = await asyncio.gather(current.view(), current.view())
    assert {view.image.state_version for view in views} <= {"2", "3"}
    assert source.reads in {2, 3}
