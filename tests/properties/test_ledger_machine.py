"""Random commands of several agents, changed clocks, crashes, snapshots and repeated calls against a plain model.

After every event the invariants hold; after every step the ledger says what the model says. What was acknowledged is
never lost, and whatever the log is replayed from, it leads to the live state.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import event as seen_in_a_run
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from metagit_mcp.domain.commands import (
    Against,
    CheckpointGiven,
    Enter,
    RateLimited,
    ReportState,
    ReportWork,
    RetryWork,
    ReviewResult,
    RevokeOwnership,
    StartWork,
)
from metagit_mcp.domain.decide import Command, decide
from metagit_mcp.domain.events import CommandAnswered, Event, SeenOpen, WorkAccepted, WorkStarted
from metagit_mcp.domain.evolve import evolve
from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.invariants import over_capacity, violations
from metagit_mcp.domain.lapses import lapses, unwritten
from metagit_mcp.domain.projection import as_known, is_due, projection
from metagit_mcp.domain.replay import first_difference, fold
from metagit_mcp.domain.share_events import ShareEvent
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.verdict import Decided
from metagit_mcp.domain.work import Usage
from metagit_mcp.errors import MetagitError
from metagit_mcp.scheduling.cycle import WorkspaceQueue, choose, unsettled
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.wire.ledger_codec import STATE_VERSION, event_record, read_event, read_state, state_record
from tests.properties import ledger_model as plain
from tests.properties.ledger_claims import POLICY, queue_over, start_of
from tests.properties.ledger_model import Key, Model, Row
from tests.properties.ledger_reports import reported
from tests.properties.ledger_seen import of_end, of_item, of_lease, of_node

NOTHING = state_record(LedgerState())
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEYS: list[Key] = [("g", "a"), ("g", "b"), ("g", "c"), ("r", "a"), ("r", "b")]
AGENTS = st.sampled_from(["ada", "bob", "cy"])
NODES = st.sampled_from(KEYS)
REPORTS: st.SearchStrategy[ReportState] = st.sampled_from(
    ["running", "checkpointed", "paused", "blocked", "completed", "failed", "released"]
)
STATUSES = st.sampled_from(["ready", "ready", "pending", "running", "blocked", "completed", "cancelled", "odd"])
SHIFTS = st.sampled_from([1, 2, 3, 86_400, 0, -86_400])


class LedgerMachine(RuleBasedStateMachine):
    """One workspace: a log, the state folded from it, files of nodes, and a clock."""

    def __init__(self) -> None:
        """Begin at noon with ready nodes and an empty log."""
        super().__init__()
        self.model = Model(NOON)
        self.state = LedgerState()
        self.log: list[tuple[str, int, bytes]] = []
        self.snapshot: tuple[int, bytes] = (0, NOTHING)
        self.rows = {key: Row("ready", None, NOON - timedelta(days=2)) for key in KEYS}
        self.acknowledged: dict[str, str] = {}
        self.epochs: dict[Key, int] = {}
        self.lease_ids: set[str] = set()
        self._drawn = 0

    # --- the machinery of a process ---

    @property
    def now(self) -> Instant:
        return Instant(wall=self.model.wall, boot_id=self.model.boot, ticks_ms=self.model.ticks)

    def _new_id(self) -> str:
        self._drawn += 1
        return f"{self._drawn:015x}{0:017x}"

    def _node(self, key: Key) -> TaskNode:
        row = self.rows[key]
        return TaskNode(
            node_id=key[1],
            status=row.status,
            blocker_reason=row.reason,
            updated_at=row.updated.isoformat(),
            estimated_tokens=3000,
        )

    def _unwritten(self) -> list[Event]:
        seen = [(item, self._node(key)) for key in KEYS if (item := self.state.item(key)) is not None]
        return unwritten(self.state, seen, POLICY, self.now)

    def _append(self, events: Iterable[Event]) -> None:
        for event in events:
            self.log.append(event_record(event))
            seen_in_a_run(self.log[-1][0])
            before = {key: self.state.item(key) for key in KEYS}
            evolve(self.state, event)
            if isinstance(event, ShareEvent):
                self.model.happened()
            assert violations(self.state, is_settled=False) == []
            self._check_history(event, before)
        assert violations(self.state) == []
        assert over_capacity(self.state, POLICY) == []

    def _check_history(self, event: Event, before: dict[Key, Any]) -> None:
        """What needs more than one state: epochs and lease ids are never used twice, changes follow one another."""
        if isinstance(event, WorkAccepted):
            key, epoch = (event.graph_id, event.node_id), event.ownership_epoch
            assert epoch == self.epochs.get(key, 0) + 1
            self.epochs[key] = epoch
        if isinstance(event, WorkStarted):
            lease, was = event.lease, before[event.lease.key]
            assert lease.lease_id not in self.lease_ids
            self.lease_ids.add(lease.lease_id)
            is_resumed = was is not None and was.state == "queued"
            assert lease.ownership_epoch == self.epochs.get(lease.key, 0) + (not is_resumed)
            self.epochs[lease.key] = lease.ownership_epoch
        for key, was in before.items():
            item = self.state.item(key)
            if was is not None and item is not None:
                assert item.changed_at > was.changed_at or (
                    item.changed_at == was.changed_at and (item.state == was.state or isinstance(event, SeenOpen))
                )
                assert item.ownership_epoch >= was.ownership_epoch

    def _do(self, command: Command, predicted: Callable[[Decided], str | None], *, writes_back: bool = True) -> Decided:
        """Carry a command out as a process does, and compare its refusal with what the model says."""
        self._append(self._unwritten())
        self.model.settle(self.rows)
        try:
            decided = decide(self.state, command, POLICY, self.now, self._new_id)
        except MetagitError as error:
            decided = Decided(refusal=error)
        self._append(decided.events)
        code = None if decided.refusal is None else decided.refusal.code
        seen_in_a_run(f"{type(command).__name__}: {code or 'fine'}")
        assert code == predicted(decided)
        if code is None:
            self._acknowledge(decided)
        if writes_back:
            self._write_back()
        return decided

    def _acknowledge(self, decided: Decided) -> None:
        action_id, reply = f"action {len(self.acknowledged)}", str(decided.lease_id)
        self._append([CommandAnswered(at=self.model.wall, action_id=action_id, digest="d", reply=reply)])
        self.model.happened()
        self.acknowledged[action_id] = reply

    def _write_back(self) -> None:
        for key in KEYS:
            item, node = self.state.item(key), self._node(key)
            if item is not None and is_due(item, node):
                shown = projection(item, node)
                self.rows[key] = Row(shown.status, shown.blocker_reason, shown.updated_at)

    def _replayed(self, position: int, body: bytes) -> LedgerState:
        kept = read_state(STATE_VERSION, body)
        return fold([read_event(*record) for record in self.log[position:]], kept)

    # --- commands ---

    @initialize(agent=AGENTS)
    def open_a_session(self, agent: str) -> None:
        self._join(agent)

    def _join(self, agent: str) -> None:
        self._do(Enter(agent_id=agent), lambda _: self.model.join(agent))

    @rule(agent=AGENTS, key=NODES, queue_only=st.sampled_from([False, False, True]), writes_back=st.booleans())
    def start(self, agent: str, key: Key, *, queue_only: bool, writes_back: bool) -> None:
        self._join(agent)
        self._append(self._unwritten())
        self.model.settle(self.rows)
        command = replace(
            start_of(self._settled(), *key, agent, self.rows[key].updated),
            against=tuple(self._against(key, agent)),
            queue_only=queue_only,
        )
        self._start(command, writes_back=writes_back)

    def _start(self, command: StartWork, *, writes_back: bool = True) -> None:
        row = self.rows[command.key]

        def started(decided: Decided) -> str | None:
            agent, key = command.agent_id, command.key
            return self.model.start(agent, key, row, decided.lease_id, queue_only=command.queue_only)

        self._do(replace(command, budget={"tokens": plain.BUDGET}), started, writes_back=writes_back)

    def _settled(self) -> WorkspaceQueue:
        """The queue after all that a start must know of has happened."""
        nodes = [(key[0], self._node(key)) for key in KEYS]
        news = unsettled(queue_over(nodes, self.state, self.model.wall), self.now)
        self._append(news)
        return queue_over(nodes, self.state, self.model.wall)

    @rule(agent=AGENTS)
    def claim(self, agent: str) -> None:
        """Take what is next, which may ask somebody to pause instead."""
        self._join(agent)
        self._append(self._unwritten())
        self.model.settle(self.rows)
        queue = self._settled()
        if sum(each.agent == agent for each in self.model.leases.values()) >= plain.AGENT_SLOTS:
            return
        choice = choose(queue, Asker(agent_id=agent))
        self._append(choice.events)
        if choice.pick is not None:
            key = (choice.pick.graph_id, choice.pick.node.node_id)
            assert not any(self._against(key, agent))
            self._start(start_of(queue, *key, agent, self.rows[key].updated, choice.pick))

    def _against(self, key: Key, agent: str) -> Iterable[Against]:
        live = self.state.leases.values()
        status = as_known(self._node(key), self.state.item(key)).status
        if status not in plain.READY:
            yield Against(kind="not_ready", text=status)
        if sum(lease.agent_id == agent for lease in live) >= plain.AGENT_SLOTS:
            yield Against(kind="agent_slots", text="agent_slots")
        if len(live) >= plain.SLOTS:
            yield Against(kind="no_slot", text="no_slot")

    @rule(agent=AGENTS)
    def all_slots_are_taken(self, agent: str) -> None:
        """Work of the low class takes every slot while there is no other; then that comes, and somebody asks for it."""
        for key in KEYS[3:]:
            self.another_program_writes(key, "odd", None, 1)
        for holder in ("ada", "ada", "bob"):
            self.claim(holder)
        for number in range(len(self.model.leases)):
            # Whoever reports nothing gets all of its charge back, and is ahead of nobody.
            self.report(number, "running", "", 12, None, None, has_point=False, writes_back=True)
        for key in KEYS[3:]:
            self.another_program_writes(key, "ready", None, 2)
        self.time_passes(3)
        self.claim(agent)

    @rule(
        pick=st.integers(0, 9),
        state=REPORTS,
        note=st.sampled_from(["one", "two", ""]),
        tokens=st.sampled_from([None, 5, 12, 21]),
        has_point=st.booleans(),
        limit=st.sampled_from([None, None, 30]),
        agent=st.sampled_from([None, None, None, "ada"]),
        writes_back=st.booleans(),
    )
    def report(
        self,
        pick: int,
        state: ReportState,
        note: str,
        tokens: int | None,
        limit: int | None,
        agent: str | None,
        *,
        has_point: bool,
        writes_back: bool,
    ) -> None:
        until = None if limit is None else self.model.wall + timedelta(seconds=limit)
        command = ReportWork(
            lease_id=self._pick(pick),
            state=state,
            note=note,
            agent_id=agent,
            checkpoint=CheckpointGiven(checkpoint_id="mine") if has_point else None,
            usage=None if tokens is None else Usage(tokens=tokens),
            rate_limited=None if until is None else RateLimited(resource="p", until=until),
        )
        self._do(command, lambda _: reported(self.model, command, "r"), writes_back=writes_back)

    @rule(agent=AGENTS, key=NODES, state=st.one_of(REPORTS, st.sampled_from(["failed", "completed"])))
    def work(self, agent: str, key: Key, state: ReportState) -> None:
        """Start a node and report on it, which is what most work is."""
        self.start(agent, key, queue_only=False, writes_back=True)
        lease_id = self.model.node(key).lease
        if lease_id is not None:
            command = ReportWork(lease_id=lease_id, state=state, note="three")
            self._do(command, lambda _: reported(self.model, command, "r"))

    def _pick(self, pick: int) -> str:
        """A lease that is mostly a live one, else one that ended or never was."""
        live, ended = list(self.model.leases), list(self.model.ended)
        if live and pick < 8:
            return live[pick % len(live)]
        return ended[-1 - pick % len(ended)] if ended else "L-NONE"

    @rule(key=NODES, agent=AGENTS, act=st.sampled_from(["accept", "reject", "retry", "retry", "revoke", "new session"]))
    def a_person_decides(self, key: Key, agent: str, act: str) -> None:
        names: dict[str, Any] = {"graph_id": key[0], "node_id": key[1], "by": "eve"}
        if act == "new session":
            self._do(Enter(agent_id=agent, new_session=True), lambda _: self.model.new_session(agent))
        elif act == "revoke":
            self._do(RevokeOwnership(**names), lambda _: self.model.revoke(key))
        elif act == "retry":
            self._do(RetryWork(**names), lambda _: self.model.retry(key))
        else:
            command = ReviewResult(**names, accept=act == "accept")
            self._do(command, lambda _: self.model.review(key, accept=command.accept))

    # --- the world outside ---

    @rule(key=NODES, status=STATUSES, reason=st.sampled_from([None, "why", "failed: x"]), shift=SHIFTS)
    def another_program_writes(self, key: Key, status: str, reason: str | None, shift: int) -> None:
        updated = self.model.wall + timedelta(seconds=shift)
        self.rows[key] = Row(status, reason if status == "blocked" else None, updated)

    @rule(seconds=st.sampled_from([1, 1, 59, 59, 300, plain.LEASE, plain.START_BY, plain.BLOCKED]))
    def time_passes(self, seconds: int) -> None:
        self.model.wall += timedelta(seconds=seconds)
        self.model.ticks += seconds * 1000

    @rule(days=st.sampled_from([-1, 0, 1]))
    def the_clock_is_set_or_the_machine_boots(self, days: int) -> None:
        self.model.wall += timedelta(days=days)
        if days == 0:
            self.model.boot, self.model.ticks = f"boot {int(self.model.boot.split()[1]) + 1}", 0

    @rule(dies=st.sampled_from(["before its events are kept", "after", "after a snapshot"]))
    def the_process_dies(self, dies: str) -> None:
        """Events that were applied and not kept are as if they never were, once the state is thrown away."""
        live = self.state.branch()
        if dies == "before its events are kept":
            for event in self._unwritten():
                evolve(self.state, event)
            enter = Enter(agent_id="ada", new_session=True)
            for event in decide(self.state, enter, POLICY, self.now, self._new_id).events:
                evolve(self.state, event)
        self.state = self._replayed(*self.snapshot)
        assert first_difference(live, self.state) is None
        if dies == "after a snapshot":
            self.snapshot = len(self.log), state_record(self.state)

    # --- what always holds ---

    @invariant()
    def ledger_and_model_say_the_same(self) -> None:
        assert {key: of_item(self.state, key) for key in KEYS} == {key: of_node(self.model, key) for key in KEYS}
        assert {lease_id: of_lease(each) for lease_id, each in self.state.leases.items()} == {
            lease_id: (each.agent, each.key, each.epoch, each.session, of_end(each.end), each.used)
            for lease_id, each in self.model.leases.items()
        }
        assert {name: each.epoch for name, each in self.state.sessions.items()} == self.model.sessions
        assert {lease_id: each.closure for lease_id, each in self.state.closed.items()} == {
            lease_id: each[0] for lease_id, each in self.model.ended.items()
        }
        assert {name: each.until for name, each in self.state.closures.items()} == self.model.closures

    @invariant()
    def files_and_ledger_together_say_what_the_model_says(self) -> None:
        for key in KEYS:
            assert as_known(self._node(key), self.state.item(key)).status == self._shown(key)

    def _shown(self, key: Key) -> str:
        row, node = self.rows[key], self.model.node(key)
        newer = node.changed is not None and row.updated > node.changed
        is_ours = node.state in {"active", "submitted"} and row.status not in {"completed", "cancelled", "blocked"}
        # An act that is no event yet counts as the file says it.
        return row.status if newer and not is_ours else self.model.shown(key, row)

    @invariant()
    def nothing_acknowledged_is_lost(self) -> None:
        assert {action_id: each.reply for action_id, each in self.state.answered.items()} == self.acknowledged

    @invariant()
    def it_lapses_when_a_term_is_over(self) -> None:
        ends = [each.end for each in self.model.leases.values()]
        ends += [each.until for each in self.model.nodes.values() if each.until is not None]
        hold = self.state.shares.hold
        if hold is not None and hold.until is not None:
            ends.append(plain.End(*of_end(hold.until)))
        assert bool(lapses(self.state, self.now)) == any(self.model.is_over(end) for end in ends)

    def teardown(self) -> None:
        assert first_difference(self._replayed(0, NOTHING), self.state) is None
        assert first_difference(self._replayed(*self.snapshot), self.state) is None


TestLedgerMachine = LedgerMachine.TestCase
# 1,000 runs of 200 steps in the deep profile (docs/reference/invariants.md); a short look in the fast one.
_IS_DEEP = settings().max_examples > 1_000
pytestmark = pytest.mark.timeout(7_200 if _IS_DEEP else 120)
TestLedgerMachine.settings = settings(
    max_examples=1_000 if _IS_DEEP else 30, stateful_step_count=200 if _IS_DEEP else 40
)
