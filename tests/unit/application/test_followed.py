"""Whoever followed every change sees what a process sees that has just begun, whatever happened and who did it."""

from __future__ import annotations

import random
import re
import sqlite3
from contextlib import closing
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.domain.invariants import violations
from metagit_mcp.domain.shares import LCM
from metagit_mcp.errors import MetagitError
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.application.desk import Json

POLICY = "schedule/policy.json"
DRAWN = re.compile(r"\b[A-Z]-[0-9A-Z]{12}\b")
NODES = {"g": ("a", "b", "c", "d"), "h": ("a", "x", "y")}
AGENTS = ("w1", "w2", "w3")
STATUSES = ("pending", "ready", "running", "blocked", "completed", "cancelled")
REPORTS = ("running", "checkpointed", "paused", "blocked", "completed", "failed", "released")
POLICIES: tuple[Json, ...] = (
    {},
    {"slots": 2, "agent_slots": 2, "leases": {"seconds": 120, "start_by_seconds": 200, "blocked_seconds": 300}},
    {"groups": {"g": {"quota": 1, "review": True}}, "agent_slots": 3, "retries": {"max_attempts": 2}},
    {"resources": {"db": {"capacity": 1}}, "agents": {"w1": {"slots": 2, "uses": {"db": 1}}}},
    {"ordering": "fair"},
    {"slotz": 1},
)


class Play:
    """What can happen on a workspace, at random; the processes are there from the beginning."""

    def __init__(self, desk: Desk, seed: int, policies: tuple[Json, ...] = POLICIES) -> None:
        self.policies = policies
        self.desk, self.chance = desk, random.Random(seed)  # noqa: S311 - the same play for the same seed
        self.desks = [desk, desk.beside(), desk.beside("cli")]
        self.leases: list[str] = []
        self._stale: list[Json] = []
        desk.graph("g", node("a", priority=2), node("b", depends_on=["a"]), node("c", uses={"db": 1}), node("d"))
        desk.graph("h", node("a", exclusive=["key"]), node("x", uses={"db": 1}, exclusive=["key"]), node("y", slots=2))

    def step(self) -> str:
        """Let something happen; return what."""
        what = self.chance.choice((*MOVES, "claim", "report", "report", "wait"))
        try:
            MOVES[what](self, self.chance.choice(self.desks))
        except MetagitError as error:
            return f"{what}: {error.code}"
        return what

    def _named(self) -> tuple[str, str]:
        graph_id = self.chance.choice(list(NODES))
        return graph_id, self.chance.choice(NODES[graph_id])

    def _took(self, answer: Json) -> None:
        given = [*answer.get("decisions", []), answer]
        self.leases += [each["lease"]["lease_id"] for each in given if "lease" in each]

    def claim(self, desk: Desk) -> None:
        fields = self.chance.choice(({}, {}, {"limit": 2}, {"new_session": True}, {"graph_id": "h"}))
        self._took(desk.claim(self.chance.choice(AGENTS), **fields))

    def start(self, desk: Desk) -> None:
        graph_id, node_id = self._named()
        later = self.chance.random() < 0.5
        self._took(desk.start(node_id, self.chance.choice(AGENTS), graph_id=graph_id, queue_only=later))

    def report(self, desk: Desk) -> None:
        if self.leases:
            fields: Json = {"note": "a note"}
            state = self.chance.choice(REPORTS)
            if state == "failed" and self.chance.random() < 0.5:
                until = self.desk.now() + timedelta(seconds=100)
                fields["rate_limited"] = {"resource": "db", "until": until.isoformat()}
            desk.report(self.chance.choice(self.leases[-4:]), state, **fields)

    def review(self, desk: Desk) -> None:
        graph_id, node_id = self._named()
        desk.review(node_id, accept=self.chance.random() < 0.5, graph_id=graph_id)

    def release(self, desk: Desk) -> None:
        graph_id, node_id = self._named()
        desk.release(node_id, graph_id=graph_id)

    def retry(self, desk: Desk) -> None:
        graph_id, node_id = self._named()
        desk.retry(node_id, graph_id)

    def approve(self, desk: Desk) -> None:
        graph_id, node_id = self._named()
        desk.approve(node_id, graph_id)

    def pause(self, desk: Desk) -> None:
        scope, name = self.chance.choice((("workspace", ""), ("group", "g"), ("agent", "w1"), ("resource", "db")))
        if self.chance.random() < 0.6:
            desk.resume(scope, name)  # type: ignore[arg-type]  # the words are right
        else:
            until = self.desk.now() + timedelta(seconds=90)
            desk.pause(scope, name, until=self.chance.choice((None, until)))  # type: ignore[arg-type]  # as above

    def update(self, desk: Desk) -> None:
        graph_id, node_id = self._named()
        fields = self.chance.choice(
            (
                {"status": "ready"},
                {"status": "blocked", "blocker_reason": "x"},
                {"priority": 5},
                {"risk": "destructive"},
            )
        )
        desk.update(node_id, graph_id=graph_id, **fields)

    def edit(self, desk: Desk) -> None:
        """Another program writes a row: as a newer act, or without moving its instant."""
        graph_id, node_id = self._named()
        status = self.chance.choice(STATUSES)
        at = {"updated_at": self._now()} if self.chance.random() < 0.7 else {}
        reason = self.chance.choice(("x", "failed: y")) if status == "blocked" else None
        desk.set_row(node_id, graph_id, status=status, blocker_reason=reason, **at)

    def copy_back(self, desk: Desk) -> None:
        """Another program writes what it read some time ago."""
        self._stale.append(desk.document("tasks/graphs/g.json"))
        if self.chance.random() < 0.3:
            desk.put("tasks/graphs/g.json", self.chance.choice(self._stale))

    def break_file(self, desk: Desk) -> None:
        """A file is broken, or left out, for a while."""
        path = desk.path("tasks/graphs/h.json")
        whole = path.read_bytes()
        if self.chance.random() < 0.5:
            path.write_bytes(b"{")
        else:
            path.unlink()
        desk.look_after()
        self.desks[0].look_after()
        path.write_bytes(whole)

    def policy(self, desk: Desk) -> None:
        desk.put(POLICY, self.chance.choice(self.policies))

    def wait(self, desk: Desk) -> None:
        desk.wait(self.chance.choice((1, 30, 130, 1000)))

    def look_after(self, desk: Desk) -> None:
        desk.look_after()

    def _now(self) -> str:
        return self.desk.now().isoformat()


MOVES: dict[str, Callable[[Play, Desk], None]] = {
    each.__name__: each
    for each in (
        Play.claim,
        Play.start,
        Play.report,
        Play.review,
        Play.release,
        Play.retry,
        Play.approve,
        Play.pause,
        Play.update,
        Play.edit,
        Play.copy_back,
        Play.break_file,
        Play.policy,
        Play.wait,
        Play.look_after,
    )
}


def seen(desk: Desk) -> Json:
    """Everything that a process says of the workspace, to some agents."""
    told: Json = {}
    for agent_id in ("w1", "w2", "stranger"):
        told[agent_id] = asked(desk.next, agent_id=agent_id, preview=True, limit=5, detail="full")
        for decision in told[agent_id].get("decisions", []):
            del decision["decision_id"]
            for attempt in decision["dispatch_hints"].get("attempts", ()):
                if attempt["outcome"] == "expired":
                    # What lapsed and is no event yet has the instant at which a process noticed it.
                    del attempt["at"]
    for graph_id, node_ids in NODES.items():
        for node_id in node_ids:
            told[f"{graph_id}/{node_id}"] = asked(desk.status, node_id=node_id, graph_id=graph_id, recent=0)
    return told


def asked(question: Callable[..., Json], **fields: object) -> Json:
    """The answer, or the error."""
    try:
        return question(**fields)
    except MetagitError as error:
        return error.as_record()


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 117])
def test_following_is_the_same_as_beginning(desk: Desk, seed: int) -> None:
    play = Play(desk, seed)
    told: list[str] = []
    for _ in range(30):
        told.append(play.step())
        fresh = seen(desk.beside())
        for each in play.desks:
            assert seen(each) == fresh, told
    # In the end the files say what everybody knows, and everybody knows the same.
    desk.put(POLICY, {})
    for each in play.desks:
        each.look_after()
    states = [each.application.current.state for each in play.desks if each.status()]
    assert [violations(each) for each in states] == [[]] * 3
    assert states == [states[0]] * 3
    same = {"ready": "pending"}
    for graph_id, node_ids in NODES.items():
        known = {name: desk.status(node_id=name, graph_id=graph_id)["explain"]["status"] for name in node_ids}
        written = desk.statuses(graph_id)
        assert [same.get(each, each) for each in known.values()] == [
            same.get(written[name], written[name]) for name in known
        ]


def written(root: Path, seed: int, *, looked_at: bool) -> list[tuple[str, str]]:
    """What a play leaves in the ledger, of which every process took a look before each step, or none did."""
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    # One policy: of another one it matters who has read it when its fields are dropped again.
    play = Play(Desk(root), seed, POLICIES[seed % 5 :][:1])
    for _ in range(60):
        for each in play.desks if looked_at else ():
            asked(each.next, agent_id="w1", limit=3)
            asked(each.status)
        play.step()
    with closing(sqlite3.connect(root / ".metagit/schedule/ledger.db")) as ledger:
        rows = ledger.execute("SELECT kind, body FROM event ORDER BY position").fetchall()
    # A look draws ids too, so that those of leases and checkpoints are other ones.
    names: dict[str, str] = {}

    def numbered(drawn: re.Match[str]) -> str:
        return names.setdefault(drawn[0], f"#{len(names)}")

    return [(kind, DRAWN.sub(numbered, body.decode())) for kind, body in rows]


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", [0, 5, 6, 7, 14, 18, 19])
def test_a_look_changes_nothing_of_what_is_written(tmp_path: Path, seed: int) -> None:
    """What it finds and is no event yet, such as a run of another program, is left to the next command to write."""
    alone = written(tmp_path / "alone", seed, looked_at=False)
    assert written(tmp_path / "looked-at", seed, looked_at=True) == alone
    assert len(alone) > 8


@pytest.mark.parametrize("looks", [(), ("next",), ("flush",), ("next", "flush")], ids=" ".join)
def test_a_run_of_another_program_is_charged_once_and_before_the_next_start(desk: Desk, looks: tuple[str, ...]) -> None:
    for graph_id in ("g", "h"):
        desk.graph(graph_id, *(node(f"{graph_id}{number}") for number in range(5)))
    desk.report(desk.lease(), "completed")
    desk.set_row("h0", "h", status="running", updated_at=desk.now().isoformat(), estimated_tokens=5_000)
    for look in looks:
        getattr(desk, look)()
    for _ in range(2):
        desk.report(desk.lease(), "completed")
    assert [kind for kind in desk.events() if kind in {"work_started", "run_seen"}] == [
        "work_started",
        "run_seen",
        "work_started",
        "work_started",
    ]
    # Three starts of a unit and what the run is taken to cost, at a weight of 4.
    root = desk.application.current.state.shares.pools[""].levels[""]
    assert {name: Fraction(flow.tag, LCM) for name, flow in root.flows.items()} == {"normal": Fraction(7, 4)}
