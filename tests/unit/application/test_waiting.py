"""A call may wait for work: it is answered as soon as there is some, and tells meanwhile that it waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from metagit_mcp.errors import AuthStaleSession, GraphNotFound, PolicyInvalid
from metagit_mcp.ports.machine import Waits
from metagit_mcp.wire.answer_size import fitted
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.requests import NextRequest
from tests.scenarios.at_once import at_once, finished
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from collections.abc import Callable

    from metagit_mcp.application.turns.turn import Turn
    from metagit_mcp.ports.workspace import Warnings
    from tests.unit.application.desk import Desk, Json

R = TypeVar("R")


class Waiting:
    """A process in which time passes only while a call waits; at some seconds something happens."""

    def __init__(
        self,
        desk: Desk,
        then: dict[int, Callable[[], object]] | None = None,
        **more: Any,  # noqa: ANN401 - any setting
    ) -> None:
        self.waited = 0.0
        self.told: list[tuple[float, float]] = []
        self._desk, self._then = desk, dict(then or {})
        self.desk = desk.beside(waits=Waits(offload=at_once, sleep=self._sleep), **more)

    async def _sleep(self, seconds: float) -> None:
        self._desk.wait(seconds)
        self.waited = round(self.waited + seconds, 6)
        for second in [each for each in self._then if each <= self.waited]:
            self._then.pop(second)()

    async def _tell(self, waited: float, of: float) -> None:
        self.told.append((waited, of))

    def next(self, **fields: object) -> Json:
        request = parse_request(NextRequest, fields)
        return fitted(finished(self.desk.application.schedule.next(request, self._tell)))

    def given(self, **fields: object) -> tuple[list[str], float]:
        """The nodes that were given, and after how long."""
        answer = self.next(**fields)
        return [each["node_id"] for each in answer["decisions"]], self.waited


@pytest.mark.parametrize("claim", [True, False])
def test_where_there_is_work_nobody_waits(desk: Desk, *, claim: bool) -> None:
    desk.graph("g", node("a"))
    assert Waiting(desk).given(wait_seconds=30, claim=claim) == (["a"], 0)


def test_who_waits_in_vain_is_told_so_in_time(desk: Desk) -> None:
    desk.graph("g", node("a", status="blocked", blocker_reason="x"))
    waiting = Waiting(desk)
    answer = waiting.next(claim=True, wait_seconds=12)
    assert (answer["decisions"], waiting.waited) == ([], 12)
    assert answer["not_eligible"] == [{"reason": "blocked", "nodes": 1}]
    assert waiting.told == [(5.0, 12), (10.0, 12)]
    # Nothing happened while it waited.
    assert desk.events() == ["session_opened"]


def test_no_call_waits_longer_than_the_server_lets_it(desk: Desk) -> None:
    assert Waiting(desk, max_wait_seconds=3).given(wait_seconds=300) == ([], 3)
    assert Waiting(desk, max_wait_seconds=0).given(wait_seconds=300) == ([], 0)
    assert Waiting(desk).given() == ([], 0)


def test_work_that_another_program_writes_down_is_given_within_a_second(desk: Desk) -> None:
    waiting = Waiting(desk, {7: lambda: desk.graph("g", node("a"))})
    (given, waited) = waiting.given(claim=True, wait_seconds=50)
    assert given == ["a"]
    assert 7 <= waited < 8
    assert waiting.told == [(5.0, 50)]


def test_work_that_another_process_sets_free_is_given(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b", depends_on=["a"]))
    lease_id = desk.lease("w1")
    waiting = Waiting(desk, {3: lambda: desk.report(lease_id, "completed")})
    given, waited = waiting.given(claim=True, agent_id="w2", wait_seconds=50)
    assert given == ["b"]
    assert 3 <= waited < 4


def test_work_that_time_sets_free_is_given(desk: Desk) -> None:
    desk.graph("g", node("later", not_before="2026-12-01T12:00:20Z"))
    assert Waiting(desk).given(claim=True, wait_seconds=50) == (["later"], 20.0)
    desk.graph("h", node("a"))
    desk.lease("w1", lease_seconds=60)
    given, waited = Waiting(desk, max_wait_seconds=100).given(claim=True, agent_id="w2", wait_seconds=100)
    assert given == ["a"]
    assert 59.5 <= waited <= 60.5


def test_who_holds_all_it_may_does_not_wait(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    lease = desk.claim("w1")["decisions"][0]["lease"]
    waiting = Waiting(desk)
    answer = waiting.next(claim=True, agent_id="w1", wait_seconds=30)
    assert (answer["decisions"], answer["held"], waiting.waited) == ([], [lease], 0)


def test_who_is_overtaken_waits_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.graph("g", node("a", status="blocked", blocker_reason="x"))
    faster: list[str] = []
    waiting = Waiting(
        desk, {2: lambda: desk.set_row("a", status="ready"), 4: lambda: desk.report(faster[0], "released")}
    )
    current = waiting.desk.application.current
    command = current.command

    async def overtaken(act: Callable[[Turn], R], **also: Any) -> tuple[R, Warnings]:  # noqa: ANN401 - passed on
        if not faster and waiting.waited:
            # Between the look and the turn.
            faster.append(desk.lease("w2"))
        return await command(act, **also)

    monkeypatch.setattr(current, "command", overtaken)
    given, waited = waiting.given(claim=True, action_id="one", wait_seconds=10)
    assert given == ["a"]
    assert 4 <= waited < 5
    # Of all the answers under the action id only the one that took something counts.
    assert desk.events().count("command_answered") == 1


def test_a_repeated_action_is_answered_at_once(desk: Desk) -> None:
    desk.graph("g", node("a"))
    first = desk.claim("w1", action_id="one", wait_seconds=9)
    desk.report(first["decisions"][0]["lease"]["lease_id"], "completed")
    waiting = Waiting(desk)
    again = waiting.next(claim=True, agent_id="w1", action_id="one", wait_seconds=9)
    # That its lease has ended is no work that one could wait for.
    assert ({**again, "warnings": []}, len(again["warnings"])) == (first, 1)
    assert waiting.waited == 0


def test_what_cannot_be_decided_is_said_at_once_or_when_it_happens(desk: Desk) -> None:
    with pytest.raises(GraphNotFound):
        Waiting(desk).next(graph_id="g", wait_seconds=9)
    waiting = Waiting(desk, {2: lambda: desk.put("schedule/policy.json", {"slotz": 1})})
    with pytest.raises(PolicyInvalid):
        waiting.next(claim=True, wait_seconds=9)
    assert 2 <= waiting.waited < 3


def test_a_second_server_for_one_agent_is_refused_before_it_waits(desk: Desk) -> None:
    desk.graph("g", node("a", status="blocked", blocker_reason="x"))
    assert desk.beside(agent_id="w1").next(claim=True)["decisions"] == []
    waiting = Waiting(desk, agent_id="w1")
    with pytest.raises(AuthStaleSession):
        waiting.next(claim=True, wait_seconds=9)
    assert waiting.waited == 0


def test_one_call_opens_one_session_however_long_it_waits(desk: Desk) -> None:
    desk.graph("g", node("a", status="blocked", blocker_reason="x"))
    desk.claim("w1")
    waiting = Waiting(desk, {2: lambda: desk.set_row("a", status="ready")})
    given, _ = waiting.given(claim=True, agent_id="w1", new_session=True, action_id="one", wait_seconds=9)
    assert given == ["a"]
    assert desk.events().count("session_opened") == 2


def test_whoever_holds_work_of_other_graphs_only_waits_for_nothing_and_is_told_nothing_of_it(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.graph("h", node("b"))
    lease_id = desk.lease("w1", graph_id="h")
    waiting = Waiting(desk)
    answer = waiting.next(claim=True, agent_id="w1", graph_id="g", wait_seconds=9)
    assert (answer["decisions"], answer["held"], waiting.waited) == ([], [], 0)
    assert answer["not_eligible"] == [{"reason": "agent_slots", "nodes": 1}]
    assert not {"h", "b", lease_id} & set(answer["next_step"].replace(".", " ").split())
    # Whoever asks about all is told.
    assert [each["lease_id"] for each in desk.claim("w1")["held"]] == [lease_id]
