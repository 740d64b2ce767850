"""Counts what a Group and all Groups got while a course is gone through once, event by event. Knows no policy's rules.

Shares are exact to one part in 10^12 of each start: thousands of Groups have no common denominator that is of any use.
"""

from collections import Counter
from typing import Final

from metagit_mcp.domain.policy import PriorityClass
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.simulation.course import Service
from metagit_mcp.scheduling.simulation.jobs import Job
from metagit_mcp.scheduling.simulation.outcome import Turn

SCALE: Final = 10**12


class Whole:
    """What all Groups got together so far, and what each class would give to a Group of weight 1 by its weight."""

    def __init__(self, class_weights: dict[PriorityClass, int]) -> None:
        """Begin with nothing."""
        self._class_weights = class_weights
        # The weights of the backlogged Groups, by class.
        self._backlog: Counter[PriorityClass] = Counter()
        self.dispatches = 0
        self.work = 0
        self.cost = 0
        self.per_weight: Counter[PriorityClass] = Counter()

    def enter(self, name: PriorityClass, weight: int) -> None:
        """Let a Group be backlogged."""
        self._backlog[name] += weight

    def leave(self, name: PriorityClass, weight: int) -> None:
        """Let a Group be backlogged no longer."""
        self._backlog[name] -= weight

    def start(self, service: Service) -> None:
        """Count a start, and divide its cost among those that are backlogged."""
        self.dispatches += 1
        self.work += service.charge
        self.cost += service.cost
        present = {name: weights for name, weights in self._backlog.items() if weights}
        total = sum(self._class_weights[name] for name in present)
        for name, weights in present.items():
            self.per_weight[name] += service.cost * SCALE * self._class_weights[name] // (total * weights)


@value
class _Mark:
    """Where a Group and all others stood when its turn, or its backlog, began."""

    second: int
    dispatches: int
    work: int


class Tally:
    """What one Group got so far."""

    def __init__(self, whole: Whole, name: PriorityClass, weight: int, quota: int | None) -> None:
        """Begin with nothing."""
        self._whole = whole
        self.name, self.weight, self._quota = name, weight, quota
        self._waiting: dict[str, _Mark] = {}
        self._widths: Counter[int] = Counter()
        self._running = 0
        self._dispatches = 0
        self._work = 0
        self._turn: _Mark | None = None
        self._shared = (0, 0)
        self._expected = 0
        self.received = 0
        self.dispatched = 0
        self.backlogs = 0
        self.cost = 0
        self.turn = Turn()
        self.waits: list[tuple[int, int]] = []

    @property
    def expected(self) -> int:
        """What its weights give so far, in parts of `SCALE`."""
        return self._expected if self._turn is None else self._expected + self._due()

    def _due(self) -> int:
        return self.weight * (self._whole.per_weight[self.name] - self._shared[0])

    def _mark(self, second: int) -> _Mark:
        whole = self._whole
        return _Mark(second=second, dispatches=whole.dispatches - self._dispatches, work=whole.work - self._work)

    # --- what happens

    def come(self, job: Job, second: int) -> None:
        """Let a node wait."""
        self._waiting[job.node.node_id] = self._mark(second)
        self._widths[job.slots] += 1
        self._judge(second)

    def waiting(self, second: int) -> int:
        """Return for how many seconds it could have started something and did not."""
        return 0 if self._turn is None else second - self._turn.second

    def start(self, service: Service, second: int) -> None:
        """Let a node start."""
        job = service.job
        began = self._waiting.pop(job.node.node_id)
        now = self._mark(second)
        self.waits.append((second - began.second, now.dispatches - began.dispatches))
        self._end_turn(second)
        if self._turn is not None:
            self.received += service.cost
        self._whole.start(service)
        self._dispatches += 1
        self._work += service.charge
        self.cost += service.cost
        self._running += job.slots
        self._widths[job.slots] -= 1
        self._turn = None if self._turn is None else self._mark(second)
        self._judge(second)

    def end(self, service: Service, second: int) -> None:
        """Let a service end: the charge is corrected, and a node that was only paused waits again."""
        correction = service.cost - service.charge
        self._work += correction
        self._whole.work += correction
        self._running -= service.job.slots
        if not service.is_last:
            self.come(service.job, second)
        self._judge(second)

    def close(self, second: int) -> None:
        """End the run: whoever waits has waited until now."""
        now = self._mark(second)
        self.waits += [(second - each.second, now.dispatches - each.dispatches) for each in self._waiting.values()]
        if self._turn is not None:
            self._leave(second)

    # --- being eligible

    def _is_eligible(self) -> bool:
        """Say whether a node waits that the quota lets start; the widest one, since the quota is kept for it."""
        widest = max((width for width, nodes in self._widths.items() if nodes), default=None)
        return widest is not None and (self._quota is None or self._running + widest <= self._quota)

    def _judge(self, second: int) -> None:
        is_eligible = self._is_eligible()
        if is_eligible and self._turn is None:
            self.backlogs += 1
            self._turn = self._mark(second)
            self._shared = (self._whole.per_weight[self.name], self._whole.cost)
            self._whole.enter(self.name, self.weight)
        elif not is_eligible and self._turn is not None:
            self._leave(second)

    def _leave(self, second: int) -> None:
        self._end_turn(second)
        self._whole.leave(self.name, self.weight)
        self._expected += self._due()
        self.dispatched += self._whole.cost - self._shared[1]
        self._turn = None

    def _end_turn(self, second: int) -> None:
        if self._turn is None:
            return
        now, longest = self._mark(second), self.turn
        self.turn = Turn(
            dispatches=max(longest.dispatches, now.dispatches - self._turn.dispatches),
            cost=max(longest.cost, now.work - self._turn.work),
            seconds=max(longest.seconds, second - self._turn.second),
        )
