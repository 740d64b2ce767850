"""A ledger in memory on which commands are played, its invariants checked after every event.

It must not know what any command leads to.
"""

# ruff: noqa: ANN401 - the fields of a command pass through
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from metagit_mcp.domain.commands import Enter, ReportWork, StartWork
from metagit_mcp.domain.decide import Command, decide
from metagit_mcp.domain.events import Event
from metagit_mcp.domain.evolve import evolve
from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.invariants import violations
from metagit_mcp.domain.lapses import unwritten
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.verdict import Decided
from metagit_mcp.domain.work import ExecutionLease, WorkItem

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Played:
    """What happened so far, and what may happen next, at an instant that only the test moves."""

    def __init__(self, policy: SchedulePolicy | None = None) -> None:
        """Begin with nothing, at noon."""
        self.state = LedgerState()
        self.policy = policy or SchedulePolicy()
        self.now = Instant(wall=NOON, boot_id="boot", ticks_ms=0)
        self.events: list[Event] = []
        self._drawn = 0

    def wait(self, seconds: int) -> None:
        """Let time pass, on both clocks."""
        later = self.now.wall + timedelta(seconds=seconds)
        self.now = replace(self.now, wall=later, ticks_ms=self.now.ticks_ms + seconds * 1000)

    def happen(self, *events: Event) -> None:
        for event in events:
            evolve(self.state, event)
            self.events.append(event)
            assert violations(self.state, is_settled=False) == []
        assert violations(self.state) == []

    def lapse(self, *rows: TaskNode, graph_id: str = "g") -> list[Event]:
        """Let happen what no command is needed for, and return it."""
        seen = [(item, row) for row in rows if (item := self.state.item((graph_id, row.node_id)))]
        events = unwritten(self.state, seen, self.policy, self.now)
        self.happen(*events)
        return events

    def ask(self, command: Command) -> Decided:
        """Return what a command would lead to."""
        return decide(self.state, command, self.policy, self.now, self._new_id)

    def do(self, command: Command) -> Decided:
        """Let what a command leads to happen, whether it is refused or not."""
        decided = self.ask(command)
        self.happen(*decided.events)
        return decided

    def _new_id(self) -> str:
        self._drawn += 1
        return f"{self._drawn:015x}{0:017x}"

    def enter(self, agent_id: str = "ada", **more: Any) -> Decided:
        return self.do(Enter(agent_id=agent_id, **more))

    def start(self, node_id: str = "n", agent_id: str = "ada", graph_id: str = "g", **more: Any) -> str:
        """Start a node as an agent does, and return its lease id; of what is only accepted it is empty."""
        self.enter(agent_id)
        command = StartWork(graph_id=graph_id, node_id=node_id, agent_id=agent_id, **more)
        return self.do(command).lease_id or ""

    def accept(self, node_id: str = "n", agent_id: str = "ada", **more: Any) -> None:
        self.start(node_id, agent_id, queue_only=True, **more)

    def report(self, lease_id: str, state: Any, note: str = "", **more: Any) -> Decided:
        return self.do(ReportWork(lease_id=lease_id, state=state, note=note, **more))

    def item(self, node_id: str = "n", graph_id: str = "g") -> WorkItem:
        return self.state.items[graph_id][node_id]

    def lease(self) -> ExecutionLease:
        """The only live lease."""
        (lease,) = self.state.leases.values()
        return lease


def row(status: str, after: timedelta | int = 0, reason: str | None = None, node_id: str = "n") -> TaskNode:
    """A node as its file says it, last changed so many seconds after noon."""
    shift = after if isinstance(after, timedelta) else timedelta(seconds=after)
    at = (NOON + shift).isoformat()
    return TaskNode(node_id=node_id, status=status, blocker_reason=reason, updated_at=at)


def kinds(events: Iterable[Event]) -> list[str]:
    """The kinds of events, for a look at what happened."""
    return [type(event).__name__ for event in events]
