"""Whoever follows the status is told of it when something changed, at most once a second, until nobody looks on."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import PolicyInvalid
from metagit_mcp.ports.machine import Waits
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.requests import StatusRequest
from tests.scenarios.at_once import AT_ONCE, finished
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from collections.abc import Callable

    from metagit_mcp.wire.status_answers import StatusAnswer
    from tests.unit.application.desk import Desk

Json = dict[str, Any]


class Enough(Exception):
    """Nothing more happens."""


def followed(
    desk: Desk, *steps: Callable[[], object], heard: int = 1_000, graph_id: str | None = None
) -> list[tuple[int, Json]]:
    """What is told while each step happens, with the number of looks before it; it is heard so many times."""
    told: list[tuple[int, Json]] = []
    left, looks = iter(steps), [0]

    async def sleep(seconds: float) -> None:
        assert seconds == 1
        looks[0] += 1
        desk.wait(seconds)
        step = next(left, None)
        if step is None:
            raise Enough
        step()

    def tell(answer: StatusAnswer) -> bool:
        told.append((looks[0], plain(answer)))
        return len(told) < heard

    schedule = desk.beside(waits=Waits(offload=AT_ONCE.offload, sleep=sleep)).application.schedule
    with suppress(Enough):
        finished(schedule.follow_status(StatusRequest(graph_id=graph_id), tell))
    return told


def nothing() -> None:
    """Let a second pass."""


def test_it_is_told_once_and_again_when_something_changed(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b", not_before="2026-12-01T12:00:05Z"))
    told = followed(desk, nothing, lambda: desk.taken("w1"), nothing, nothing, nothing, nothing)
    counts = [(look, answer["counts"]["running"], answer["runnable_count"]) for look, answer in told]
    # At the fifth look only the time has changed something.
    assert counts == [(0, 0, 1), (2, 1, 0), (5, 1, 1)]


def test_that_somebody_waits_longer_is_no_news(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.taken("w1")
    told = followed(desk, nothing, nothing, lambda: desk.pause("group", "g"), nothing)
    assert [(look, answer["groups"][0]["oldest"]["seconds"]) for look, answer in told] == [(0, 0), (3, 3)]


def test_it_ends_when_nobody_looks_on(desk: Desk) -> None:
    desk.graph("g", node("a"))
    assert len(followed(desk, heard=1)) == 1
    assert [look for look, _ in followed(desk, nothing, lambda: desk.taken("w1"), nothing, heard=2)] == [0, 2]


def test_it_is_about_what_was_asked_for(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.graph("h", node("b"))
    told = followed(desk, lambda: desk.taken("w1", graph_id="h"), graph_id="g")
    assert [[each["graph_id"] for each in answer["groups"]] for _, answer in told] == [["g"], ["g"]]


def test_it_ends_with_the_error_that_leaves_nothing_to_tell(desk: Desk) -> None:
    desk.graph("g", node("a"))
    with pytest.raises(PolicyInvalid):
        followed(desk, lambda: desk.put("schedule/policy.json", {"slots": 0}))
