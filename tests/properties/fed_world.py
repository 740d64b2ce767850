"""A workspace beside two Groups that are fed by Events, and all that may happen in and between them, a step at a time.

Each Group is run by an authority of its own. Each step checks what follows from it alone: who may be given work, and
why a lease may end. What holds whatever happens is `test_fed_work.py`'s.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import event as seen_in_a_run

from metagit_mcp.domain.replay import first_difference
from metagit_mcp.errors import MetagitError
from tests.groups import commands
from tests.groups.answering import Way, state_of
from tests.groups.authority import FIRST, Authority, Item
from tests.groups.streams import CHOICES, SeededLots
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from metagit_mcp.domain.feeds import Proposal
    from metagit_mcp.domain.state import LedgerState
    from metagit_mcp.domain.work import ExecutionLease

Json = dict[str, Any]
# An act, and three numbers that say whose, on what and how.
Step = tuple[str, int, int, int]
# Whether an agent may have a WorkItem, and whether it may start it.
Rights = dict[tuple[str, str], tuple[bool, bool]]
AGENTS = commands.AGENTS[:3]
GROUPS = ("group:cli", "group:web")
SKILLS = frozenset({"software.python"})
# What Coordinators, people and gateways do, each as often as it stands here.
BY_OTHERS = (
    *("offer", "offer", "approve", "accept result", "unblock", "authorize") * 5,
    *("renew", "renew", "record usage"),
    *("fail", "cancel", "create child", "child approved", "child blocks", "child fails", "add dependency"),
    *("open session", "join", "leave", "cancel mission", "terminate mission"),
)
ELSEWHERE = ("accept", "start", "submit", "checkpoint", "block")
WAITS = (1, 1, 5, 30, 300, 1_000, 4_000)
REPORTS = ("running", "checkpointed", "paused", "blocked", "completed", "completed", "failed", "released")
FATES = ("carry", "carry", "carry", "lose", "refuse", "twice")
DELIVERIES = ("all", "all", "all", "next", "last", "again")
ACTS = (
    "nothing_happens",
    *("the_group_goes_on",) * 6,
    *("the_log_is_delivered", "commands_are_carried") * 5,
    *("an_agent_reports",) * 5,
    *("an_agent_claims",) * 4,
    *("an_agent_starts",) * 3,
    *("time_passes", "somebody_works_elsewhere", "somebody_only_looks") * 2,
    *("the_group_hears_of_new_sessions", "a_person_takes_work_back"),
)
# A ledger that is to outlast a loss of power waits for the disk at each commit.
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - where it is there, it is the file system in memory


def tried(what: str, act: Callable[[], Json]) -> Json | None:
    """Do what may be refused; None if it was."""
    try:
        done = act()
    except MetagitError as error:
        seen_in_a_run(f"{what}: {error.code}")
        return None
    seen_in_a_run(f"{what}: fine")
    return done


class World:
    """A workspace with a task graph, two processes and three agents, beside two Groups."""

    def __init__(self, root: Path, seed: int) -> None:
        (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
        (root / ".metagit" / "schedule").mkdir()
        first = Desk(root, ids="one", capabilities=SKILLS)
        first.put("schedule/policy.json", {"agent_slots": 3})
        first.graph("shop", node("api"), node("ui", depends_on=["api"]), node("docs"))
        first.set_clock(FIRST, 0)
        self.desks = [first, first.beside("cli", ids="two", capabilities=SKILLS)]
        self.ways = {name: self._way(SeededLots(seed), name) for name in GROUPS}
        # The WorkItems that an agent of this workspace acted on, or began a session anew, past it.
        self.elsewhere: set[tuple[str, str]] = set()
        # The agents of which each Group has not heard that they began a new session.
        self.replaced: dict[str, list[str]] = {name: [] for name in self.ways}

    def _way(self, lots: SeededLots, group_id: str) -> Way:
        group = Authority(lots, group_id)
        commands.create_mission(group, "mission:one")
        for name in commands.AGENTS:
            commands.join(group, name)
        for gate in ("not_required", "human_required", "not_required"):
            commands.authorize(group, "mission:one", approval=gate, needs=())
        for item in list(group.items.values())[:2]:
            commands.offer(group, item, *AGENTS[:2])
        way = Way(group)
        way.deliver(self.desks[0])
        return way

    @property
    def state(self) -> LedgerState:
        return state_of(self.desks[0])

    def told(self, state: LedgerState, group_id: str) -> Json:
        """What a log says up to where it was taken in."""
        said: Json = self.ways[group_id].group.said[state.feeds[group_id].cursor - 1]
        return said

    def close(self) -> None:
        for desk in self.desks:
            desk.application.close()

    # --- the steps -------------------------------------------------------------------------------------------------

    def do(self, step: Step) -> None:
        act, whose, on, how = step
        # What ran out until now is no doing of the act.
        finished(self.desks[0].application.current.command(lambda _: None))
        way = self.ways[GROUPS[whose % 3 // 2]]
        getattr(self, act)(self.desks[whose // 3 % 2], way, on, how)

    def nothing_happens(self, _: Desk, __: Way, ___: int, ____: int) -> None:
        """What a step becomes that does not matter, where a failure is made simpler."""

    def the_group_goes_on(self, _: Desk, way: Way, on: int, how: int) -> None:
        self._command(way.group, BY_OTHERS[how % len(BY_OTHERS)], on)

    def somebody_works_elsewhere(self, _: Desk, way: Way, on: int, how: int) -> None:
        item = self._command(way.group, ELSEWHERE[how % len(ELSEWHERE)], on)
        if item is not None and item.owner in AGENTS:
            self.elsewhere.add((way.group_id, item.work_id))

    def _command(self, group: Authority, name: str, on: int) -> Item | None:
        """Carry a Command out, if it is allowed on anything now; return the WorkItem that it was about."""
        targets: Sequence[Any] = CHOICES[name].targets(group)
        if name in {"cancel mission", "terminate mission"}:
            targets = [mission for mission, state in group.missions.items() if state == "active"]
        if not targets:
            return None
        group.acts += 1
        target = targets[on % len(targets)]
        if name == "open session":
            self._note_revoked(group, target)
        CHOICES[name].carry_out(group, target)
        seen_in_a_run(f"Group: {name}")
        item = target[0] if isinstance(target, tuple) else target
        return item if isinstance(item, Item) else None

    def time_passes(self, desk: Desk, _: Way, __: int, how: int) -> None:
        seconds = WAITS[how % len(WAITS)]
        desk.wait(seconds)
        for way in self.ways.values():
            way.group.wait(seconds)

    def the_log_is_delivered(self, desk: Desk, way: Way, _: int, how: int) -> None:
        pending = way.pending()
        places = {
            "all": pending[::-1],
            "next": pending[:2],
            "last": pending[-1:],
            "again": [*sorted(way.delivered)[-3:], *pending[:1]],
        }[DELIVERIES[how % len(DELIVERIES)]]
        before, had = self._beside(way.group_id), self._leases(way)
        starting = {(each.node_id, each.agent_id) for each in way.outbox(desk) if each.command == "work.start"}
        at = self.state.feeds[way.group_id].cursor
        way.deliver(desk, places)
        assert self._beside(way.group_id) == before
        said = way.group.said[at : self.state.feeds[way.group_id].cursor]
        for lease in self._lost(way, had):
            several = [each["items"][lease.node_id] for each in said]
            is_running = several[-1]["state"] == "active" or (lease.node_id, lease.agent_id) in starting
            is_fenced = any(contradicts(each, lease) for each in several)
            assert is_fenced or not is_running or (way.group_id, lease.node_id) in self.elsewhere

    def _leases(self, way: Way) -> list[ExecutionLease]:
        return [each for each in self.state.leases.values() if each.graph_id == way.group_id]

    def _lost(self, way: Way, before: list[ExecutionLease]) -> list[ExecutionLease]:
        """The leases that ended since, for no act of their holders."""
        now = {each.lease_id for each in self._leases(way)}
        return [each for each in before if each.lease_id not in now]

    def _beside(self, group_id: str) -> tuple[Json, Json, Json]:
        """All work but that of one Group."""
        state = self.state
        leases = {name: each for name, each in state.leases.items() if each.graph_id != group_id}
        items = {name: dict(each) for name, each in state.items.items() if name != group_id}
        feeds = {name: each for name, each in state.branch().feeds.items() if name != group_id}
        return items, leases, feeds

    def commands_are_carried(self, desk: Desk, way: Way, on: int, how: int) -> None:
        """Carry what stands in the outbox, but for one Command that has a fate of its own."""
        proposals, had, against = way.outbox(desk), self._leases(way), set()
        for at, proposal in enumerate(proposals):
            fate = FATES[how % len(FATES)] if at == on % len(proposals) else "carry"
            if self._carry(desk, way, proposal, fate):
                against.add((proposal.node_id, proposal.agent_id))
        assert {(lease.node_id, lease.agent_id) for lease in self._lost(way, had)} <= against

    @staticmethod
    def _carry(desk: Desk, way: Way, proposal: Proposal, fate: str) -> str:
        """Let a Command meet its fate; return why it was refused, or nothing."""
        if fate == "lose":
            return ""
        if fate == "refuse" and proposal.action_id not in way.carried:
            way.answer(desk, proposal, "refused", "the gateway is closed")
            return "the gateway is closed"
        refused = way.carry(desk, proposal)
        if fate == "twice" and not refused:
            refused = way.carry(desk, proposal)
        seen_in_a_run(f"{proposal.command}: {'refused' if refused else 'carried'}")
        return refused

    def the_group_hears_of_new_sessions(self, _: Desk, way: Way, __: int, ___: int) -> None:
        for name in self.replaced[way.group_id]:
            self._note_revoked(way.group, name)
            commands.open_session(way.group, name)
        self.replaced[way.group_id].clear()

    def _note_revoked(self, group: Authority, agent: str) -> None:
        """Note the work of which a new session at its Group ends the lease there."""
        of_agent = (item.work_id for item in group.of_state("active") if item.owner == agent)
        self.elsewhere.update((group.group_id, name) for name in of_agent)

    def somebody_only_looks(self, desk: Desk, _: Way, on: int, how: int) -> None:
        """Advice and status are those that a process gives that begins now; nothing is other than before."""
        before = self.state.branch()
        fresh = desk.beside(ids="other", capabilities=SKILLS)
        answers = [(each.next(agent_id=AGENTS[on % 3], limit=1 + how % 4), each.status()) for each in (desk, fresh)]
        fresh.application.close()
        for advice, _status in answers:
            for each in advice["decisions"]:
                del each["decision_id"]
        assert answers[0] == answers[1]
        assert first_difference(before, self.state) is None

    def an_agent_claims(self, desk: Desk, _: Way, on: int, how: int) -> None:
        agent = AGENTS[on % 3]
        before = self._rights(agent)
        answer = tried("claim", lambda: desk.claim(agent, limit=1 + how % 2))
        for each in [] if answer is None else answer["decisions"]:
            seen_in_a_run(f"claimed of {each['graph_id']}")
            if each["graph_id"] != "shop":
                assert before[each["graph_id"], each["node_id"]][1]

    def an_agent_starts(self, desk: Desk, way: Way, on: int, how: int) -> None:
        agent, node_id = AGENTS[how % 3], sorted(way.group.items)[on % len(way.group.items)]
        is_queued, is_new = how // 3 % 2 == 1, how % 12 == 11
        fields = {"graph_id": way.group_id, "queue_only": is_queued, "new_session": is_new}
        before, had = self._rights(agent), agent in self.state.sessions
        started = tried("accept" if is_queued else "start", lambda: desk.start(node_id, agent, **fields))
        for replaced in self.replaced.values() if is_new and had else ():
            replaced.append(agent)
        if started is not None:
            assert before[way.group_id, node_id][not is_queued]

    def an_agent_reports(self, desk: Desk, _: Way, on: int, how: int) -> None:
        leases = sorted(self.state.leases.values(), key=lambda each: (each.granted_at, each.key))
        if leases:
            lease_id, said = leases[on % len(leases)].lease_id, REPORTS[how % len(REPORTS)]
            tried(f"report {said}", lambda: desk.report(lease_id, said, note="so far"))

    def a_person_takes_work_back(self, desk: Desk, way: Way, on: int, _: int) -> None:
        node_id = sorted(way.group.items)[on % len(way.group.items)]
        tried("taken back", lambda: desk.release(node_id, graph_id=way.group_id))

    # --- who may have what -----------------------------------------------------------------------------------------

    def _rights(self, agent: str) -> Rights:
        """What an agent may do, by what the logs said as far as they were delivered, and by its own acts here."""
        state = self.state
        return {
            (group_id, name): self.rights_to(agent, state, group_id, name)
            for group_id in self.ways
            for name in self.told(state, group_id)["items"]
        }

    def rights_to(self, agent: str, state: LedgerState, group_id: str, name: str) -> tuple[bool, bool]:
        here, now, items = state.items[group_id][name], self.desks[0].now(), self.told(state, group_id)["items"]
        said = items[name]
        if here.state == "active" or (here.state == "queued" and said["state"] != "queued"):
            # Under a lease, asked for, or run on in a new session.
            may = here.owner == agent
        elif said["state"] == "queued":
            may = said["owner"] == agent and said["until"] > now
        else:
            may = said["offer"] is not None and agent in said["offer"][0] and said["offer"][1] > now
        until = said["approved_until"]
        is_closed = self.ways[group_id].group.items[name].gated and (until is None or until <= now)
        is_early = any(need not in items or items[need]["state"] != "verified" for need in said["dependencies"])
        return may, may and (here.state == "active" or not (is_closed or is_early))

    # --- the end ---------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Carry and deliver all there is."""
        for group_id, way in self.ways.items():
            for name in self.replaced[group_id]:
                commands.open_session(way.group, name)
            way.settle(self.desks[1])


def contradicts(said: Json, lease: ExecutionLease | Proposal) -> bool:
    """Whether a log leaves an act no ownership: the work is another's, was fenced, or is over."""
    if said["state"] in {"open", "verified", "failed", "cancelled"}:
        return True
    if said["owner"] is not None:
        return bool((said["owner"], said["epoch"]) != (lease.agent_id, lease.ownership_epoch))
    candidates = [] if said["offer"] is None else said["offer"][0]
    return lease.agent_id not in candidates or bool(lease.ownership_epoch != said["epoch"] + 1)


@contextmanager
def world(seed: int) -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="fed-work-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
    made = World(folder / "workspace", seed)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder)
