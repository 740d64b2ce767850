"""Claims, reports, crashes, clocks and old copies of the file, in any order: whoever has a node has it alone.

The model knows leases, their ends in ticks, and what is done; it shares no code with the program. Files and ledger are
real, and each agent is a process of its own that may be started again at any time.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metagit_mcp.errors import MetagitError
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW, Desk

NODES: Final = ("a", "b", "c")
AGENTS: Final = ("w0", "w1", "w2")
GRAPH: Final = "tasks/graphs/g.json"
TERM: Final = 900
START_BY: Final = 3_600

AGENT = st.sampled_from(AGENTS)
STEPS = st.one_of(
    st.tuples(st.just("claim"), AGENT),
    # A failure is retried at an instant of the wall clock, so that it is no part of this play with the clock.
    st.tuples(st.just("report"), st.tuples(st.integers(0, 9), st.sampled_from(("running", "released")))),
    st.tuples(st.just("report"), st.tuples(st.integers(0, 9), st.just("completed"))),
    st.tuples(st.just("wait"), st.sampled_from((1, 450, TERM - 1, TERM, START_BY))),
    st.tuples(st.just("set_clock"), st.sampled_from((-86_400, 86_400))),
    st.tuples(st.just("restart"), AGENT),
    st.tuples(st.just("new_session"), AGENT),
    st.tuples(st.just("old_copy"), st.integers(0, 9)),
    st.tuples(st.just("look_after"), AGENT),
)


@dataclass
class Given:
    """A lease as its agent knows it."""

    lease_id: str
    node_id: str
    agent_id: str
    until: int
    ended: bool = False


@dataclass
class Play:
    """The workspace, the processes, and what ought to be so."""

    desk: Desk
    processes: dict[str, Desk]
    ticks: int = 0
    shift: int = 0
    leases: list[Given] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    copies: list[bytes] = field(default_factory=list)
    # Work of a former session: for its agent alone, until it has to be started.
    queued: dict[str, tuple[str, int]] = field(default_factory=dict)

    def live(self) -> dict[str, Given]:
        return {each.node_id: each for each in self.leases if not each.ended and each.until > self.ticks}

    def took(self, agent_id: str, lease_id: str, node_id: str) -> None:
        assert node_id not in self.done
        assert node_id not in self.live()
        assert lease_id not in {each.lease_id for each in self.leases}
        self.leases.append(Given(lease_id, node_id, agent_id, self.ticks + TERM))

    def claim(self, agent_id: str, *, new_session: bool = False) -> None:
        answer = self.processes[agent_id].claim(agent_id, lease_seconds=TERM, new_session=new_session)
        own = {name: each.lease_id for name, each in self.live().items() if each.agent_id == agent_id}
        assert {each["node_id"]: each["lease_id"] for each in answer["held"]} == own
        others = {name for name, (owner, until) in self.queued.items() if owner != agent_id and until > self.ticks}
        free = set(NODES) - self.done - set(self.live()) - others
        assert len(answer["decisions"]) == (1 if free and not own else 0)
        for each in answer["decisions"]:
            assert each["node_id"] in free
            self.queued.pop(each["node_id"], None)
            self.took(agent_id, each["lease"]["lease_id"], each["node_id"])

    def new_session(self, agent_id: str) -> None:
        """Its work is back in its queue, which is for nobody else; all of it has its time anew."""
        mine = [each for each in self.live().values() if each.agent_id == agent_id]
        for each in mine:
            each.ended = True
        waiting = [name for name, (owner, until) in self.queued.items() if owner == agent_id and until > self.ticks]
        for name in [*waiting, *(each.node_id for each in mine)]:
            self.queued[name] = (agent_id, self.ticks + START_BY)
        self.claim(agent_id, new_session=True)

    def report(self, which: tuple[int, str]) -> None:
        number, state = which
        if not self.leases:
            return
        lease = self.leases[number % len(self.leases)]
        is_live = self.live().get(lease.node_id) is lease
        code = self._said(lease, state)
        assert code in ({""} if is_live else {"WORK_LEASE_EXPIRED", "WORK_STALE_OWNERSHIP", "AUTH_STALE_SESSION"})
        if not is_live:
            return
        lease.ended, lease.until = state != "running", self.ticks + TERM
        self.done |= {lease.node_id} if state == "completed" else set()

    def _said(self, lease: Given, state: str) -> str:
        """The code of the refusal of a report, if it is refused."""
        try:
            self.processes[lease.agent_id].report(lease.lease_id, state, note="why")
        except MetagitError as error:
            return error.code
        return ""

    def wait(self, seconds: int) -> None:
        self.ticks += seconds
        self._tell_time()

    def set_clock(self, seconds: int) -> None:
        self.shift += seconds
        self._tell_time()

    def _tell_time(self) -> None:
        self.desk.set_clock(NOW + timedelta(seconds=self.ticks + self.shift), self.ticks * 1000)

    def restart(self, agent_id: str) -> None:
        """As after kill -9: nothing is said, and another process begins."""
        self.processes[agent_id] = self.desk.beside("cli")

    def old_copy(self, number: int) -> None:
        """Another program writes back what it read some time ago."""
        self.copies.append(self.desk.path(GRAPH).read_bytes())
        self.desk.path(GRAPH).write_bytes(self.copies[number % len(self.copies)])

    def look_after(self, agent_id: str) -> None:
        self.processes[agent_id].look_after()

    def account(self) -> None:
        """In the end the file says what is so, to everybody."""
        self.desk.look_after()
        live = set(self.live())
        found = {"completed": self.done, "running": live}
        statuses = self.desk.statuses()
        assert {kind: {name for name, each in statuses.items() if each == kind} for kind in found} == found
        running = {each["node_id"]: each["agent_id"] for each in self.desk.beside().status()["running"]}
        assert running == {name: each.agent_id for name, each in self.live().items()}
        assert self.desk.events().count("work_started") == len(self.leases)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEPS, max_size=25))
def test_in_any_order_a_node_has_one_owner_and_no_work_is_lost(steps: list[tuple[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "w"
        (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
        desk = Desk(root)
        desk.graph("g", *(node(name) for name in NODES))
        play = Play(desk, {name: desk.beside("cli") for name in AGENTS})
        play.claim("w0")
        for name, argument in steps:
            getattr(play, name)(argument)
        play.account()
