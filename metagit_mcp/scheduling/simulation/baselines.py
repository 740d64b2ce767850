"""The same nodes on the same slots under two classic rules, to compare deadlines with. Knows no share and no policy.

Earliest deadline first (EDF) takes the node with the earliest deadline, one without a deadline last; first in, first
out (FIFO) takes the one that came first. Both are strict: while the first one does not fit, none goes before it.
Classes, weights and quotas do not exist for them.
"""

from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from typing import Final, Literal

from metagit_mcp.domain.work import NodeKey
from metagit_mcp.scheduling.simulation.jobs import Job

Rule = Literal["edf", "fifo"]


def finished_under(rule: Rule, jobs: Iterable[Job], slots: int, agents: int, end: int | None) -> dict[NodeKey, int]:
    """Return the second in which each node is done that is done by the end; `jobs` in the order in which they come."""
    room = _Room(slots, agents)
    key = _KEYS[rule]
    done: dict[NodeKey, int] = {}
    waiting: list[tuple[tuple[int, int], Job]] = []
    arrivals = list(enumerate(jobs))
    arrivals.reverse()
    while arrivals or waiting:
        second = min(*room.next_end(), *(job.at for _, job in arrivals[-1:]), _NEVER)
        if end is not None and second >= end:
            break
        room.free_at(second)
        while arrivals and arrivals[-1][1].at == second:
            place, job = arrivals.pop()
            heappush(waiting, (key(job, place), job))
        while waiting and room.has(waiting[0][1].slots):
            job = heappop(waiting)[1]
            room.take(second + job.runtime, job.slots)
            if end is None or second + job.runtime <= end:
                done[job.graph_id, job.node.node_id] = second + job.runtime
    return done


# Places make every key another one, so that two nodes are never compared themselves.
_KEYS: Final[Mapping[Rule, Callable[[Job, int], tuple[int, int]]]] = {
    "edf": lambda job, place: (_NEVER if job.due is None else job.due, place),
    "fifo": lambda job, place: (job.at, place),
}
_NEVER: Final = 1 << 62


class _Room:
    """The slots and agents, and when those in use are free again."""

    def __init__(self, slots: int, agents: int) -> None:
        self._slots, self._agents = slots, agents
        self._ends: list[tuple[int, int]] = []

    def next_end(self) -> list[int]:
        return [until for until, _ in self._ends[:1]]

    def free_at(self, second: int) -> None:
        while self._ends and self._ends[0][0] <= second:
            self._slots += heappop(self._ends)[1]
            self._agents += 1

    def has(self, slots: int) -> bool:
        return self._agents > 0 and self._slots >= slots

    def take(self, until: int, slots: int) -> None:
        self._slots -= slots
        self._agents -= 1
        heappush(self._ends, (until, slots))
