"""Whose turn it is follows from the ledger: the same for one process, for several, after a restart and after a replay.

The scene has classes, weights, a quota, wide nodes, deadlines, two pools, work that ends with another cost than was
estimated, and work that is given back.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import pytest

from metagit_mcp.domain.replay import first_difference, fold
from metagit_mcp.scheduling.capabilities import asker_for
from metagit_mcp.scheduling.cycle import WorkspaceQueue, plan
from tests.scenarios.at_once import finished
from tests.scenarios.claiming import POLICY
from tests.scenarios.folding import events_in
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW, Desk, Json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

STEPS: Final = 60
RULES: Final[Json] = {
    "slots": 4,
    "agent_slots": 99,
    "preemption": {"enabled": False},
    "agents": {"gpu*": {"capabilities": ["gpu"]}},
    "groups": {"a": {"class": "high", "weight": 3}, "b": {"class": "high"}, "c": {"quota": 1}, "d": {"weight": 2}},
}
AGENTS: Final = ("w1", "gpu1", "w2")


def scene(root: Path) -> Desk:
    """Five Groups, in which every rule has something to decide."""
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk, chance = Desk(root), random.Random(7)  # noqa: S311 - a scene, not a secret
    desk.put(POLICY, RULES)
    for name in "abcde":
        rows = []
        for number in range(14):
            fields: Json = {"priority": chance.randint(-2, 2), "estimated_tokens": chance.choice([500, 1_500, 4_000])}
            if chance.random() < 0.2:
                fields["slots"] = 2 + chance.randrange(2)
            if chance.random() < 0.2:
                fields["capabilities"] = ["gpu"]
            if chance.random() < 0.2:
                fields["deadline"] = (NOW + timedelta(hours=chance.randint(-5, 30))).isoformat()
            rows.append(node(f"{name}{number:02}", **fields))
        desk.graph(name, *rows)
    return desk


class Course:
    """Agents that ask in turn; what runs longest ends before every other ask, as planned, dearer, or given back."""

    def __init__(self, desks: Iterator[Desk]) -> None:
        self._desks = desks
        self._running: list[str] = []
        self.served: list[str] = []

    def step(self, number: int) -> None:
        desk = next(self._desks)
        if number % 2 and self._running:
            how: Json = [{}, {"usage": {"tokens": 9_000}}, {"usage": {"tokens": 1}}][number % 3]
            desk.report(self._running.pop(0), "released" if number % 5 == 0 else "completed", **how)
        answer = desk.claim(AGENTS[number % len(AGENTS)])
        self._running += [each["lease"]["lease_id"] for each in answer["decisions"]]
        self.served.append(given_of(answer))

    def run(self, steps: int = STEPS) -> list[str]:
        for number in range(steps):
            self.step(number)
        return self.served


def given_of(answer: Json) -> str:
    return " ".join(f"{each['graph_id']}/{each['node_id']}" for each in answer["decisions"])


@pytest.fixture(scope="module")
def alone_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where one process was at work, and no other."""
    return tmp_path_factory.mktemp("alone")


@pytest.fixture(scope="module")
def alone(alone_at: Path) -> list[str]:
    """What it gave."""
    return Course(itertools.repeat(scene(alone_at))).run()


def test_the_scene_has_asks_with_and_without_an_answer(alone_at: Path, alone: list[str]) -> None:
    """Else it would say little: every Group is served, slots are held, both pools are known, and some get nothing."""
    assert {each[:1] for each in alone} == {"", "a", "b", "c", "d", "e"}
    assert 30 <= sum(map(bool, alone)) < STEPS
    state = fold(events := events_in(alone_at / ".metagit/schedule/ledger.db"))
    assert {"SlotsHeld", "HoldFilled", "WorkStarted", "WorkReleased"} <= {type(each).__name__ for each in events}
    assert sorted(state.shares.pools) == ["", "gpu"]


def in_turn(desk: Desk) -> Iterator[Desk]:
    return itertools.cycle([desk, desk.beside()])


def restarted(desk: Desk) -> Iterator[Desk]:
    while True:
        fresh = desk.beside()
        yield fresh
        fresh.application.close()


def on_the_command_line(desk: Desk) -> Iterator[Desk]:
    """Files are brought in step at once, by processes that live for one command."""
    while True:
        fresh = desk.beside("cli")
        yield fresh
        fresh.application.close()


@pytest.mark.parametrize("desks", [in_turn, restarted, on_the_command_line])
def test_processes_that_take_turns_give_what_one_gives(
    tmp_path: Path, alone: list[str], desks: Callable[[Desk], Iterator[Desk]]
) -> None:
    assert Course(desks(scene(tmp_path / "w"))).run() == alone


def test_advice_in_between_changes_no_tag_and_no_turn(tmp_path: Path, alone: list[str]) -> None:
    """Asked twice it answers the same, whoever asks, for one or for many; and the next claim is what it said."""
    desk = scene(tmp_path / "w")
    course = Course(itertools.repeat(desk))
    for number in range(STEPS):
        before = first_of_all(desk)
        for agent_id, limit in (("w1", 1), ("gpu1", 9), ("w9", 30), (AGENTS[number % 3], 2)):
            first, second = (desk.next(agent_id=agent_id, limit=limit) for _ in range(2))
            assert given_of(first) == given_of(second)
        assert first_of_all(desk) == before
        course.step(number)
    assert course.served == alone


def first_of_all(desk: Desk) -> tuple[list[str], object]:
    """All that happened so far, and the shares that it led to."""
    return desk.events(), desk.application.current.state.shares.branch()


@pytest.mark.parametrize("agent", ["w", "gpu"])
def test_a_plan_of_k_is_what_k_claims_of_k_agents_get(tmp_path: Path, agent: str) -> None:
    """Again and again, while slots fill up, wide nodes wait and work ends."""
    desk = scene(tmp_path / "w")
    running: list[str] = []
    lengths = []
    for number in range(12):
        advice = given_of(desk.next(agent_id=f"{agent}8", limit=5)).split()
        claims = [desk.claim(f"{agent}{each}") for each in range(5)]
        running += [each["lease"]["lease_id"] for answer in claims for each in answer["decisions"]]
        assert " ".join(map(given_of, claims)).split() == advice
        lengths.append(len(advice))
        for lease_id in running[: 1 + number % 4]:
            desk.report(lease_id, "completed", usage={"tokens": 700 * number})
        del running[: 1 + number % 4]
    assert set(lengths) >= {1, 2, 3}


def test_a_replayed_ledger_has_the_same_tags_and_gives_the_same_next_node(tmp_path: Path) -> None:
    desk = scene(tmp_path / "w")
    course = Course(itertools.repeat(desk))
    for number in range(STEPS):
        course.step(number)
        if number % 10 == 9:
            replayed = fold(events_in(desk.path("schedule/ledger.db")))
            view = finished(desk.application.current.view())
            assert first_difference(replayed, desk.application.current.state) is None
            queue = WorkspaceQueue(replace(view.queue.snapshot, work=replayed))
            for agent_id in ("w9", "gpu9"):
                picks = plan(queue, asker_for(view.policy, agent_id, None), 3).picks
                advice = given_of(desk.next(agent_id=agent_id, limit=3)).split()
                assert [f"{each.graph_id}/{each.node.node_id}" for each in picks] == advice


def test_an_event_that_is_read_twice_is_no_second_charge(tmp_path: Path) -> None:
    """Two processes fold what the other wrote; each has the tags of the whole ledger, counted once."""
    desk = scene(tmp_path / "w")
    other = desk.beside()
    Course(itertools.cycle([desk, other])).run(20)
    for each in (desk, other):
        finished(each.application.current.view())
    assert first_difference(desk.application.current.state, other.application.current.state) is None
    assert first_difference(fold(events_in(desk.path("schedule/ledger.db"))), desk.application.current.state) is None
