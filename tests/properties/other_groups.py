"""Two worlds that differ in nothing but the other Groups, and one Group that asks the same things in both.

It must not know what is answered, nor what may differ.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from metagit_mcp.wire.codec import plain
from tests.groups.offered import at_the_beginning, deliver, offering
from tests.groups.streams import SeededLots, log_of
from tests.scenarios.at_once import finished
from tests.scenarios.planted import estimated, try_to
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Json = dict[str, Any]
OWN: Final = "own"
OWN_FED: Final = "group:cli"
AGENTS: Final = ("agent://acme/analyst", "agent://acme/coder")
SKILLS: Final = ("software.python@1", "software.python@1.0.0", "software.python")
STATES: Final = ("running", "checkpointed", "paused", "blocked", "completed", "failed", "released")
# An act, and two numbers that say on what and how.
Step = tuple[str, int, int]
_STEPS: Final = ("start", "start", "start", "own", "report", "report", "report", "estimate", "wait", "group")
_OTHER_ACTS: Final = 7
_NAMES: Final = st.text("abcxyz", min_size=1, max_size=6)
_INSTANT: Final = "2026-07-15T{:02}:30:00Z"


@dataclass(frozen=True)
class Others:
    """The other Groups of a world: graphs as their files have them, logs by Group, and what is done there meanwhile."""

    graphs: dict[str, list[Json]]
    logs: dict[str, list[Json]] = field(repr=False)
    acts: list[list[tuple[int, int]]]


# --- what is drawn ---------------------------------------------------------------------------------------------------


@st.composite
def nodes(draw: st.DrawFn, prefix: str, most: int, least: int = 1) -> list[Json]:
    """Nodes of one Group, which may want the same things as those of any other."""
    found: list[Json] = []
    for number in range(draw(st.integers(least, most))):
        wanted: Json = {
            "title": draw(st.text(st.characters(codec="ascii", exclude_categories=["C"]), max_size=9)),
            "priority": draw(st.integers(-5, 900)),
            "estimated_tokens": draw(st.sampled_from((None, 0, 500, 40_000))),
            "estimated_runtime_seconds": draw(st.sampled_from((None, 60, 4_000))),
            "deadline": draw(st.none() | st.integers(8, 23).map(_INSTANT.format)),
            "requested_urgency": draw(st.sampled_from((None, "critical", "routine"))),
            "slots": draw(st.sampled_from((None, None, 1, 2, 4))),
            "uses": draw(st.sampled_from((None, {"api": 1}, {"api": 2}))),
            "exclusive": draw(st.sampled_from((None, None, ["lock"], ["lock", "key"]))),
            "touches": draw(st.sampled_from((None, ["src/*"], ["src/a/**", "docs/*"]))),
            "repository": draw(st.sampled_from((None, "p/api", "p/web"))),
            "depends_on": draw(
                st.lists(st.sampled_from(found), max_size=1).map(lambda few: [n["node_id"] for n in few])
            )
            if found
            else [],
        }
        found.append(node(f"{prefix}{number}", **{name: each for name, each in wanted.items() if each is not None}))
    return found


def steps() -> st.SearchStrategy[list[Step]]:
    return st.lists(st.tuples(st.sampled_from(_STEPS), st.integers(0, 60), st.integers(0, 60)), min_size=3, max_size=14)


@st.composite
def others(draw: st.DrawFn, turns: int) -> Others:
    """Some Groups with files, and none or one with a log; ids, titles, sizes, order and deadlines are any."""
    names = draw(st.lists(_NAMES, max_size=3, unique=True))
    graphs = {name: draw(nodes(f"{name}-", 6)) for name in names}
    logs = {}
    for seed in draw(st.lists(st.integers(0, 99), max_size=1)):
        name = f"group:{draw(_NAMES)}-other"
        logs[name] = log_of(SeededLots(seed), name, least=5, most=25).events
    act = st.tuples(st.integers(0, _OTHER_ACTS - 1), st.integers(0, 99))
    acts = draw(st.lists(st.lists(act, max_size=4), min_size=turns, max_size=turns))
    # They begin with a claim each, so that there is something in the way.
    return Others(graphs, logs, [[(0, number) for number in range(len(names))], *acts])


@st.composite
def policies(draw: st.DrawFn) -> Json:
    slots = draw(st.sampled_from((None, 2, 3, 5)))
    return {
        "slots": slots,
        "agent_slots": 9,
        "queue_capacity": draw(st.sampled_from((2, 1_000))),
        "resources": {"api": {"capacity": 3}},
        "drain_limit": draw(st.sampled_from((0, 3))),
        "groups": {OWN: {"class": draw(st.sampled_from(("normal", "low"))), "quota": draw(st.sampled_from((None, 2)))}},
        "agents": {"agent://acme/*": {"slots": draw(st.sampled_from((2, 9))), "capabilities": list(SKILLS)}},
        "preemption": {"min_quantum_seconds": 0, "max_preemptions": 2},
    }


# --- a world ---------------------------------------------------------------------------------------------------------


@contextmanager
def world(policy: Json, own: Sequence[Json], others: Others) -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="world-"))
    made = World(folder / "ws", policy, own, others)
    try:
        yield made
    finally:
        made.desk.application.close()
        made.beside.application.close()
        shutil.rmtree(folder)


class World:
    """A workspace, with one process for the one Group and one for all others; each draws its own ids."""

    def __init__(self, root: Path, policy: Json, own: Sequence[Json], others: Others) -> None:
        (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
        self.desk = at_the_beginning(Desk(root, ids="one"))
        self.desk.put("schedule/policy.json", policy)
        self.desk.graph(OWN, *own)
        # The ledger is begun by the one Group's process, which draws the workspace's id.
        deliver(self.desk, offering(OWN_FED, items=3).log, OWN_FED)
        self.beside = self.desk.beside(ids="others")
        self._others, self._turn, self._held = others, 0, list[str]()
        self._names = sorted(others.graphs)
        for name in others.graphs:
            self.desk.graph(name, *others.graphs[name], title=f"the title of {name}")
        self.leases: list[str] = []

    # --- what the one Group does, and is told

    def step(self, step: Step) -> Json:
        """Carry out a step of the one Group."""
        act, what, how = step
        fed = what % 2 == 1
        graph_id = OWN_FED if fed else OWN
        names = sorted(self.desk.application.current.state.items[OWN_FED]) if fed else self._rows()
        node_id = names[what // 2 % len(names)]
        if act in {"start", "own"}:
            agent_id = AGENTS[how % 2]
            return self._started(node_id, agent_id, graph_id, queue_only=act == "own")
        if act == "report" and self.leases:
            return self._reported(self.leases[what % len(self.leases)], STATES[how % len(STATES)], how)
        if act == "estimate":
            return try_to(lambda: estimated(self.desk, graph_id, node_id if how % 2 else None))
        if act == "wait":
            self.desk.wait(60 * how)
            return {}
        return self._group(how)

    def estimates(self) -> list[Json]:
        """What both of the one Group's queues are told of all their nodes."""
        asked = [(OWN_FED, None), (OWN, None), *((OWN, node_id) for node_id in self._rows())]
        return [try_to(partial(estimated, self.desk, *each)) for each in asked]

    def _rows(self) -> list[str]:
        return [row["node_id"] for row in self.desk.document(f"tasks/graphs/{OWN}.json")["nodes"]]

    def _started(self, node_id: str, agent_id: str, graph_id: str, *, queue_only: bool) -> Json:
        answer = try_to(lambda: self.desk.start(node_id, agent_id, graph_id=graph_id, queue_only=queue_only))
        if "lease" in answer and answer["lease"]["lease_id"] not in self.leases:
            self.leases.append(answer["lease"]["lease_id"])
        return answer

    def _reported(self, lease_id: str, state: str, how: int) -> Json:
        usage = {"tokens": 100 * how}
        return try_to(lambda: self.desk.report(lease_id, state, note=f"note {how}", usage=usage))

    def _group(self, how: int) -> Json:
        """What the Coordinator is given: a delivery of what it has, how the Group stands, or its outbox."""
        groups = self.desk.application.groups
        if how % 3 == 0:
            return try_to(lambda: deliver(self.desk, offering(OWN_FED, items=3).log, OWN_FED))
        if how % 3 == 1:
            return plain(finished(groups.shown(OWN_FED)))
        return plain(finished(groups.outbox(OWN_FED)))

    # --- what the others do

    def others_go_on(self) -> None:
        """Let the other Groups do what they do between two steps of the one Group."""
        for kind, number in self._others.acts[self._turn % len(self._others.acts)] if self._others.acts else ():
            self._act(kind, number)
        self._turn += 1
        # Terms that ended are noticed by the next command of anybody, or by a server twice a second: here at once.
        self.desk.pause("agent", "nobody")
        self.desk.resume("agent", "nobody")

    def _act(self, kind: int, number: int) -> None:
        names = [*self._names, *self._others.logs]
        if not names:
            return
        name, agent_id = names[number % len(names)], f"other{number % 4}"
        if kind <= 1:
            claimed = try_to(lambda: self.beside.claim(agent_id, graph_id=name, limit=2, capabilities=SKILLS))
            self._held += [each["lease"]["lease_id"] for each in claimed.get("decisions", ())]
        elif kind == 2 and self._held:
            lease_id = self._held.pop(number % len(self._held))
            try_to(lambda: self.beside.report(lease_id, STATES[number % len(STATES)], note="theirs"))
        elif kind == 3:
            try_to(lambda: (self.beside.pause if number % 2 else self.beside.resume)("group", name))
        elif kind == 4 and name in self._others.logs:
            try_to(lambda: deliver(self.beside, self._others.logs[name][: 10 + number], name))
        elif kind == 5:
            # Somebody looks at everything, in the one Group's own process; places are found by trying starts out.
            try_to(
                lambda: self.desk.status(node_id="n0", graph_id=OWN, detail="full") and self.desk.status(node_id="n0")
            )
        elif name in self._others.graphs:
            row = self._others.graphs[name][number % len(self._others.graphs[name])]
            try_to(lambda: self.beside.start(row["node_id"], agent_id, graph_id=name, queue_only=number % 3 == 0))

    def make_way(self) -> None:
        """Let nothing of the other Groups be in anybody's way any more."""
        every = self.beside.application.current.state.items
        for name in every.keys() - {OWN, OWN_FED}:
            for item in [each for each in every[name].values() if each.state in {"queued", "active"}]:
                try_to(partial(self.beside.release, item.node_id, graph_id=item.graph_id))
        for name in self._names:
            self.beside.path(f"tasks/graphs/{name}.json").unlink()
        for name in self._others.logs:
            self.beside.pause("group", name)
        self._names = []
