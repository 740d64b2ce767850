"""The nodes of a workload one by one, as the seed draws them, in the order in which they come. Decides nothing.

Virtual time is whole seconds from an arbitrary instant.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from metagit_mcp.domain.charging import units_of
from metagit_mcp.domain.instant import later
from metagit_mcp.domain.policy import SchedulePolicy, quota_for
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.simulation.lots import Lots
from metagit_mcp.scheduling.simulation.workload import Arrivals, SimulatedGroup, Workload

START: Final = datetime(2026, 1, 1, tzinfo=UTC)


@value
class Job:
    """One node: when it comes, what it is charged, what it costs in the end, how long it takes and when it is due."""

    graph_id: str
    node: TaskNode
    at: int
    charge: int
    cost: int
    tokens: int
    runtime: int
    due: int | None = None

    @property
    def slots(self) -> int:
        """The slots that it takes."""
        return self.node.slots or 1


def wall(second: int) -> datetime:
    """Return the instant of a second of virtual time."""
    return later(START, second)


def jobs_of(workload: Workload, seed: int) -> tuple[Job, ...]:
    """Return all nodes by the second in which they come; in one second in the order of the workload."""
    drawn = [job for place, group in enumerate(workload.groups) for job in _of_group(group, Lots(seed, place))]
    return tuple(sorted(drawn, key=lambda job: job.at))


def _of_group(group: SimulatedGroup, lots: Lots) -> Iterator[Job]:
    number = 0
    for kind in group.arrivals:
        at = kind.at_seconds
        for _ in range(kind.nodes):
            number += 1
            yield _drawn(group.graph_id, f"n{number:05d}", kind, at, lots)
            at += lots.around(kind.every_seconds, kind.spread_percent)


def _drawn(graph_id: str, node_id: str, kind: Arrivals, at: int, lots: Lots) -> Job:
    estimate = lots.around(kind.estimated_tokens, kind.spread_percent)
    tokens = estimate if kind.tokens is None else lots.around(kind.tokens, kind.spread_percent)
    due = None if kind.due_seconds is None else at + kind.due_seconds
    node = TaskNode(
        node_id=node_id,
        status="ready",
        priority=kind.priority,
        estimated_tokens=estimate,
        slots=None if kind.slots == 1 else kind.slots,
        deadline=None if due is None else wall(due),
        requested_urgency=kind.requested_urgency,
    )
    charge = units_of(kind.slots, estimate)
    return Job(
        graph_id=graph_id,
        node=node,
        at=at,
        charge=charge,
        # An agent that reports nothing is not corrected.
        cost=units_of(kind.slots, tokens) if tokens else charge,
        tokens=tokens,
        runtime=max(1, lots.around(kind.runtime_seconds, kind.spread_percent)),
        due=due,
    )


def fits_at_all(job: Job, policy: SchedulePolicy) -> bool:
    """Say whether the slots of the workspace and the quota of the Group would ever be enough for the node."""
    quota = quota_for(policy, job.graph_id)
    return (policy.slots is None or job.slots <= policy.slots) and (quota is None or job.slots <= quota)
