"""Whoever keeps the board open is told within a second that it is worth another look, and not more often than that."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.adapters.system import FixedClock
from metagit_mcp.application.access import TokenWish
from metagit_mcp.application.board import board
from metagit_mcp.application.board import changes as board_changes
from metagit_mcp.application.board.changes import Sight, Sights
from metagit_mcp.application.caller import Caller
from metagit_mcp.errors import PolicyInvalid
from metagit_mcp.ports.machine import Waits
from metagit_mcp.wire.board_answers import BoardAnswer, BoardRequest
from tests.scenarios.at_once import AT_ONCE, finished
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from collections.abc import Callable

    from metagit_mcp.application.board.board import Board
    from metagit_mcp.bootstrap import Application
    from tests.unit.application.desk import Desk

POLICY = "schedule/policy.json"


class Enough(Exception):
    """Nothing more happens."""


def nothing() -> None:
    """Let half a second pass."""


def told(
    desk: Desk,
    *steps: Callable[[], object],
    heard: int = 1_000,
    graph_id: str | None = None,
    caller: Caller | None = None,
) -> list[tuple[int, str]]:
    """What is told while each step happens, with the number of looks before it; it is heard so many times."""
    found: list[tuple[int, str]] = []
    left, looks = iter(steps), [0]

    async def sleep(seconds: float) -> None:
        assert seconds == 0.5
        looks[0] += 1
        desk.wait(seconds)
        step = next(left, None)
        if step is None:
            raise Enough
        step()

    def tell(version: str) -> bool:
        found.append((looks[0], version))
        return len(found) < heard

    application = desk.beside(waits=Waits(offload=AT_ONCE.offload, sleep=sleep)).application
    board: Board = (application if caller is None else application.speaking_for(caller)).board
    with suppress(Enough):
        finished(board.follow(tell, graph_id))
    return found


def looks(*args: Any, **fields: Any) -> list[int]:  # noqa: ANN401 - as `told` takes them
    return [look for look, _ in told(*args, **fields)]


def test_it_is_told_at_once_and_after_what_another_process_or_a_file_did(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    found = told(desk, nothing, lambda: desk.taken("w1"), nothing, lambda: desk.set_row("b", priority=9), nothing)
    assert [look for look, _ in found] == [0, 2, 4]
    assert len({version for _, version in found}) == 3
    assert found[-1][1] == desk.status()["state_version"]


def test_what_time_alone_changes_is_told_too(desk: Desk) -> None:
    desk.put(POLICY, {"leases": {"seconds": 60}})
    desk.graph("g", node("a", priority=9), node("b", not_before="2026-12-01T12:00:02Z"))
    desk.taken("w1")
    desk.wait(0.5)
    assert looks(desk, nothing, nothing, nothing, lambda: desk.wait(60), nothing) == [0, 3, 4]


def test_the_end_of_a_pause_and_of_a_closure_is_told(desk: Desk) -> None:
    desk.graph("g", node("a", uses={"api": 1}), node("b"))
    limited = {"resource": "api", "until": "2026-12-01T12:00:01Z"}
    desk.report(desk.lease("w1"), "failed", note="429", rate_limited=limited)
    desk.pause("agent", "w9", until=desk.now().replace(second=2))
    assert looks(desk, *([nothing] * 6)) == [0, 2, 4]


def test_signs_of_life_are_told_every_few_seconds_at_most(desk: Desk) -> None:
    desk.graph("g", node("a"))
    lease = desk.lease("w1")
    renew = [lambda: desk.report(lease, "running")] * 25
    assert looks(desk, *renew) == [0, 10, 20]
    assert looks(desk, *([nothing] * 25)) == [0]


def test_advice_is_news_since_it_stands_on_the_timeline(desk: Desk) -> None:
    desk.graph("g", node("a"))
    assert looks(desk, nothing, lambda: desk.next(agent_id="w1"), nothing) == [0, 2]


def test_of_one_group_only_its_own_news_are_told(desk: Desk) -> None:
    for name in ("g", "h"):
        desk.graph(name, node(f"{name}1"), node(f"{name}2"))
    steps = [lambda: desk.taken("w1", graph_id="h"), lambda: desk.taken("w2", graph_id="g"), nothing]
    assert looks(desk, *steps, graph_id="g") == [0, 2]
    coordinator = Caller(surface="http", role="coordinator", group_id="h")
    more = [lambda: desk.taken("w3", graph_id="g"), lambda: desk.taken("w4", graph_id="h"), nothing]
    assert looks(desk, *more, caller=coordinator) == [0, 2]


def test_readers_who_look_at_the_same_time_share_one_look(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    first, other = desk.application, desk.application.speaking_for(Caller(surface="http", role="viewer"))

    def seen(application: Application, graph_id: str | None = None) -> str:
        found: list[str] = []

        def tell(version: str) -> bool:
            found.append(version)
            return False

        finished(application.board.follow(tell, graph_id))
        return found[0]

    before = seen(first)
    desk.beside().taken("w1")
    # Within a moment it is the same look, of the same Group.
    assert (seen(other), seen(other, "g") != before) == (before, True)
    desk.wait(0.4)
    assert seen(other) == desk.board()["state_version"] != before


def test_readers_who_ask_at_the_same_time_share_one_answer_until_something_happens(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.graph("g", node("a"), node("b"))
    made: list[BoardAnswer] = []
    make = board.board_answer

    def noted(*args: Any) -> BoardAnswer:  # noqa: ANN401 - as it takes them
        made.append(make(*args))
        return made[-1]

    monkeypatch.setattr(board, "board_answer", noted)
    viewer, person = (
        desk.application.speaking_for(Caller(surface="http", role=role)) for role in ("viewer", "operator")
    )

    def asked(**fields: Any) -> BoardAnswer:  # noqa: ANN401 - as the request has them
        one, other = (finished(each.board.board(BoardRequest(**fields))) for each in (viewer, person))
        assert (one.viewer.role, other.viewer.role) == ("viewer", "operator")
        assert replace(one, viewer=other.viewer) == other
        return one

    def step(act: Callable[[], object], **fields: Any) -> tuple[int, int]:  # noqa: ANN401 - as above
        act()
        return len(asked(**fields).running), len(made)

    lease = desk.lease("w1")
    assert step(nothing) == (1, 1)
    assert step(nothing, limit=1) == (1, 2)
    assert step(lambda: desk.report(lease, "running", usage={"tokens": 5})) == (1, 3)
    assert step(lambda: desk.taken("w2")) == (2, 4)
    assert step(lambda: desk.wait(0.4)) == (2, 5)


def test_answers_are_not_kept_for_ever(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_changes, "_ANSWERS_KEPT", 2)
    desk.graph("g", node("a"))
    sights, answer = Sights(FixedClock(desk.now())), finished(desk.application.board.board(BoardRequest()))
    questions = [(("", None, None), limit, 0) for limit in (1, 2, 3)]
    for question in questions:
        sights.keep_answer(question, Sight(), answer)
    assert [sights.answer(question, Sight()) for question in questions] == [None, None, answer]


def test_a_command_that_failed_sends_no_reader_away(desk: Desk) -> None:
    desk.graph("g", node("a"))
    application, found = desk.application, list[str]()
    issued = finished(application.access.issue(TokenWish(subject="ada", role="viewer"), "ada"))
    caller = Caller(surface="http", role="viewer", token_id=issued.token.token_id)

    def tell(version: str) -> bool:
        found.append(version)
        return False

    def fail(_: object) -> None:
        raise ZeroDivisionError

    finished(application.board.follow(tell))
    with pytest.raises(ZeroDivisionError):
        finished(application.current.command(fail))
    finished(application.speaking_for(caller).board.follow(tell))
    assert found == [desk.board()["state_version"]] * 2


def test_what_many_readers_saw_is_not_kept_for_ever(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_changes, "_READERS_KEPT", 2)
    desk.graph("g", node("a"))
    sights = Sights(FixedClock(desk.now()))
    for name in "abc":
        sights.keep((name, None, None), Sight(state_version=name))
    kept = {name: sights.fresh((name, None, None)) for name in "abc"}
    assert kept == {"a": None, "b": None, "c": Sight(state_version="c")}


def test_it_ends_when_nobody_looks_on(desk: Desk) -> None:
    desk.graph("g", node("a"))
    assert looks(desk, lambda: desk.taken("w1"), nothing, heard=2) == [0, 1]


def test_who_is_told_may_take_its_time(desk: Desk) -> None:
    desk.graph("g", node("a"))
    found: list[str] = []

    async def tell(version: str) -> bool:
        found.append(version)
        return False

    finished(desk.application.board.follow(tell))
    assert found == [desk.board()["state_version"]]


def test_it_ends_with_the_error_that_leaves_nothing_to_show(desk: Desk) -> None:
    desk.graph("g", node("a"))
    with pytest.raises(PolicyInvalid):
        told(desk, lambda: desk.put(POLICY, {"slots": 0}))
