"""Agents at work over the pure core: each ask is settled, chosen, decided, folded and followed as a claim is.

There is no file, and time stands still. It must not know what a test expects.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from metagit_mcp.domain.commands import Enter, ReportWork, StartWork
from metagit_mcp.domain.decide import Command, decide
from metagit_mcp.domain.evolve import evolve_all
from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import Usage
from metagit_mcp.scheduling.capabilities import asker_for
from metagit_mcp.scheduling.cycle import WorkspaceQueue, choose, dispatch_of, holding_of, plan, unsettled
from tests.snapshots import NOW, group, snapshot_of, task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from metagit_mcp.domain.commands import ReportState
    from metagit_mcp.domain.events import Event
    from metagit_mcp.domain.tasks import LoadedGraph
    from metagit_mcp.scheduling.snapshot import Asker

# Time has no part in any of it.
_INSTANT = Instant(wall=NOW, boot_id="boot", ticks_ms=0)


def many(graph_id: str, nodes: int = 300, **fields: Any) -> LoadedGraph:  # noqa: ANN401 - any field of a node
    """A Group of so many equal nodes, whose ids begin with its own."""
    return group(graph_id, *(task(f"{graph_id}{number:04}", **fields) for number in range(nodes)))


def shares(**groups: Mapping[str, Any]) -> dict[str, GroupPolicy]:
    """What the policy says of Groups."""
    return {name: GroupPolicy(**fields) for name, fields in groups.items()}


class Floor:
    """A workspace in memory; `events` is all that happened, `running` the leases by `graph/node`."""

    def __init__(self, *graphs: LoadedGraph, **rules: Any) -> None:  # noqa: ANN401 - any field of a policy
        self.policy = SchedulePolicy(**rules)
        self.state = LedgerState()
        self.events: list[Event] = []
        self.running: dict[str, str] = {}
        self.queue = WorkspaceQueue(snapshot_of(*graphs, policy=self.policy, work=self.state))
        self._numbers = count()

    def bring(self, *graphs: LoadedGraph) -> None:
        """Let graphs come, or others in the place of those of the same name."""
        known = {**self.queue.snapshot.graphs, **{each.graph_id: each for each in graphs}}
        self.queue.refresh(replace(self.queue.snapshot, graphs=known))

    def rule(self, **rules: Any) -> None:  # noqa: ANN401 - any field of a policy
        """Change the policy."""
        self.policy = replace(self.policy, **rules)
        self.queue.refresh(replace(self.queue.snapshot, policy=self.policy))

    def asker(self, agent_id: str) -> Asker:
        """Who asks under this id."""
        return asker_for(self.policy, agent_id, None)

    def ask(self, agent_id: str = "w") -> str:
        """Let an agent claim; return what it got as `graph/node`, or nothing."""
        if agent_id not in self.state.sessions:
            self._command(Enter(agent_id=agent_id))
        asker = self.asker(agent_id)
        self._happen(unsettled(self.queue, _INSTANT))
        choice = choose(self.queue, asker)
        self._happen(choice.events)
        pick = choice.pick
        if pick is None:
            return ""
        command = StartWork(
            graph_id=pick.graph_id,
            node_id=pick.node.node_id,
            agent_id=agent_id,
            holding=holding_of(self.queue, asker, pick.graph_id, pick.node),
            dispatch=dispatch_of(self.queue, asker, pick.graph_id, pick.node, pick),
        )
        name = f"{pick.graph_id}/{pick.node.node_id}"
        self.running[name] = str(self._command(command))
        return name

    def end(self, name: str, tokens: int | None = None, state: ReportState = "completed") -> None:
        """Let whoever works on a node report that it is over."""
        usage = None if tokens is None else Usage(tokens=tokens)
        self._command(ReportWork(lease_id=self.running.pop(name), state=state, usage=usage))

    def serve(self, starts: int, used: Mapping[str, int] | None = None) -> list[str]:
        """Let so many nodes start and end one after the other; `used` are the tokens that work of a Group reports."""
        served: list[str] = []
        for _ in range(starts):
            name = self.ask()
            self.end(name, (used or {}).get(name.partition("/")[0]))
            served.append(name)
        return served

    def groups(self, starts: int, used: Mapping[str, int] | None = None) -> str:
        """The same as the Groups' names in a row, which have one letter each."""
        return "".join(name[0] for name in self.serve(starts, used))

    def advice(self, limit: int = 1, agent_id: str = "w") -> list[str]:
        """What so many agents like this one would get."""
        return [f"{each.graph_id}/{each.node.node_id}" for each in plan(self.queue, self.asker(agent_id), limit).picks]

    def _command(self, command: Command) -> str | None:
        decided = decide(self.state, command, self.policy, _INSTANT, lambda: f"{next(self._numbers):06}")
        assert decided.refusal is None
        self._happen(decided.events)
        return decided.lease_id

    def _happen(self, events: Iterable[Event]) -> None:
        self.events += (happened := list(events))
        self.queue.follow(self.state, evolve_all(self.state, happened))
