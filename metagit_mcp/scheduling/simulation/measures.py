"""Goes through a course once and says what it is worth (see outcome.py). Makes no plan and knows no ledger."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from metagit_mcp.domain.policy import CLASSES, class_of, quota_for, weight_of
from metagit_mcp.domain.work import NodeKey
from metagit_mcp.scheduling.simulation.baselines import finished_under
from metagit_mcp.scheduling.simulation.bounds import Bound, bounds_of
from metagit_mcp.scheduling.simulation.course import Course, Service
from metagit_mcp.scheduling.simulation.jobs import Job, fits_at_all
from metagit_mcp.scheduling.simulation.outcome import Deadlines, GroupOutcome, Outcome, Quantiles, Step
from metagit_mcp.scheduling.simulation.tally import SCALE, Tally, Whole

# Into how many stretches a run is divided for its picture.
STEPS: Final = 60
_END, _COME, _START = range(3)
# The second, the kind, a place among those of the kind, whether it is an end, and whose it is.
_Event = tuple[int, int, int, bool, Job | Service]


def measured(course: Course) -> Outcome:
    """Return what the course is worth."""
    policy = course.policy
    fitting = [job for job in course.jobs if fits_at_all(job, policy)]
    sweep = _Sweep(course, fitting)
    steps = sweep.run()
    bounds = bounds_of(policy, course.agents, fitting)
    deadlines = _deadlines(course, fitting)
    counts, dearest = _counts(course), _dearest(fitting)
    groups = tuple(
        _group(name, counts[name], tally, bounds.get(name, _UNBOUND), deadlines.get(name, Deadlines()))
        for name, tally in sorted(sweep.tallies.items())
    )
    return Outcome(
        course=course,
        groups=groups,
        jain=_jain([each.received / each.expected for each in groups if _is_owed_nodes(each, dearest)]),
        deadlines=_together(deadlines.values()),
        steps=steps,
    )


# --- one walk ------------------------------------------------------------------------------------------------------


def _events(course: Course, fitting: Iterable[Job]) -> Iterator[_Event]:
    """Yield all that happened: in one second ends, arrivals, starts; who made room at once does so after its start."""
    for place, job in enumerate(fitting):
        if job.at < course.end:
            yield job.at, _COME, place, False, job
    for place, service in enumerate(course.services):
        yield service.begin, _START, place, False, service
        if not _is_cut_off(service, course):
            yield service.end, _END if service.begin < service.end else _START, place, True, service


class _Sweep:
    """One walk through all that happened."""

    def __init__(self, course: Course, fitting: Sequence[Job]) -> None:
        policy = course.policy
        self._course = course
        self._whole = Whole({name: getattr(policy.classes, name) for name in CLASSES})
        self.tallies = {
            name: Tally(self._whole, class_of(policy, name), weight_of(policy, name), quota_for(policy, name))
            for name in {job.graph_id: None for job in course.jobs}
        }
        self._events = sorted(_events(course, fitting), key=lambda event: event[:4])
        self._width = max(1, -(-course.end // STEPS))
        self._steps: list[Step] = []
        self._received: Counter[str] = Counter()
        self._expected: dict[str, int] = dict.fromkeys(self.tallies, 0)
        self._longest: dict[str, int] = {}

    def run(self) -> tuple[Step, ...]:
        """Let everything happen; return the stretches of the run."""
        for second, _, _, is_end, happened in self._events:
            while second > self._width * (len(self._steps) + 1):
                self._step()
            if isinstance(happened, Job):
                self.tallies[happened.graph_id].come(happened, second)
            elif is_end:
                self.tallies[happened.job.graph_id].end(happened, second)
            else:
                self._start(happened, second)
        while not self._steps or self._steps[-1].until < self._course.end:
            self._step()
        for tally in self.tallies.values():
            tally.close(self._course.end)
        return tuple(self._steps)

    def _start(self, service: Service, second: int) -> None:
        name = service.job.graph_id
        self._note_wait(name, second)
        self.tallies[name].start(service, second)
        self._received[name] += service.cost

    def _note_wait(self, name: str, second: int) -> None:
        self._longest[name] = max(self._longest.get(name, 0), self.tallies[name].waiting(second))

    def _step(self) -> None:
        now = {name: tally.expected for name, tally in self.tallies.items()}
        due = {name: Fraction(each - self._expected[name], SCALE) for name, each in now.items()}
        until = min(self._course.end, self._width * (len(self._steps) + 1))
        for name in [name for name, tally in self.tallies.items() if tally.waiting(until)]:
            self._note_wait(name, until)
        self._steps.append(
            Step(
                until=until,
                received=dict(self._received),
                expected={name: each for name, each in due.items() if each},
                longest_wait=dict(self._longest),
            )
        )
        self._received.clear()
        self._longest.clear()
        self._expected = now


def _is_cut_off(service: Service, course: Course) -> bool:
    return not service.is_last and service.end == course.end


# --- Group by Group ------------------------------------------------------------------------------------------------

_UNBOUND: Final = Bound(cost=Fraction(0), seconds=0)


@dataclass(slots=True)
class _Count:
    """The nodes of one Group: how many came, can never start, started and are done, and how often any was paused."""

    nodes: int = 0
    never_fit: int = 0
    finished: int = 0
    paused: int = 0
    started: set[str] = field(default_factory=set)


def _counts(course: Course) -> dict[str, _Count]:
    counts: defaultdict[str, _Count] = defaultdict(_Count)
    for job in course.jobs:
        counts[job.graph_id].nodes += 1
        counts[job.graph_id].never_fit += not fits_at_all(job, course.policy)
    for service in course.services:
        count = counts[service.job.graph_id]
        count.started.add(service.job.node.node_id)
        count.finished += service.is_last
        count.paused += not (service.is_last or _is_cut_off(service, course))
    return counts


def _group(name: str, count: _Count, tally: Tally, bound: Bound, deadlines: Deadlines) -> GroupOutcome:
    return GroupOutcome(
        graph_id=name,
        priority_class=tally.name,
        weight=tally.weight,
        nodes=count.nodes,
        started=len(count.started),
        finished=count.finished,
        paused=count.paused,
        never_fit=count.never_fit,
        cost=tally.cost,
        received=tally.received,
        dispatched=tally.dispatched,
        backlogs=tally.backlogs,
        expected=Fraction(tally.expected, SCALE),
        wait_seconds=quantiles(seconds for seconds, _ in tally.waits),
        wait_dispatches=quantiles(dispatches for _, dispatches in tally.waits),
        turn=tally.turn,
        bound=bound,
        deadlines=deadlines,
    )


def quantiles(numbers: Iterable[int]) -> Quantiles:
    """Return the quantiles of some numbers by nearest rank."""
    ranked = sorted(numbers)
    if not ranked:
        return Quantiles()
    # The number at rank ceil(n·p), counted from 1.
    return Quantiles(p50=ranked[-(-len(ranked) // 2) - 1], p95=ranked[-(-len(ranked) * 95 // 100) - 1], most=ranked[-1])


def _is_owed_nodes(group: GroupOutcome, dearest: Mapping[str, int]) -> bool:
    """Say whether its weights gave a Group its dearest node, or more, each time it had work on the average.

    What is owed less gets nothing or a whole node, and says nothing of shares.
    """
    return group.backlogs > 0 and group.expected >= group.backlogs * dearest[group.graph_id]


def _dearest(jobs: Iterable[Job]) -> dict[str, int]:
    """Return the cost of each Group's dearest node."""
    dearest: dict[str, int] = {}
    for job in jobs:
        dearest[job.graph_id] = max(dearest.get(job.graph_id, 0), job.charge, job.cost)
    return dearest


def _jain(parts: Sequence[Fraction]) -> Fraction | None:
    """Return (Σx)² / n·Σx², on millionths: thousands of parts have no common denominator that is of any use."""
    xs = [round(each * 1_000_000) for each in parts]
    squares = sum(each * each for each in xs)
    return Fraction(sum(xs) ** 2, len(xs) * squares) if squares else None


# --- deadlines -----------------------------------------------------------------------------------------------------


def _deadlines(course: Course, fitting: Sequence[Job]) -> dict[str, Deadlines]:
    """Return the deadlines of each Group that has any which end in the run, and which somebody could keep."""
    limit = course.limit
    due = [
        job
        for job in fitting
        if job.due is not None and job.due >= job.at + job.runtime and (limit is None or job.due <= limit)
    ]
    if not due:
        return {}
    slots = course.policy.slots or course.agents
    here = {_key(each.job): each.end for each in course.services if each.is_last}
    edf, fifo = (finished_under(rule, fitting, slots, course.agents, limit) for rule in ("edf", "fifo"))
    counted: dict[str, list[int]] = {}
    for job in due:
        row = counted.setdefault(job.graph_id, [0, 0, 0, 0])
        row[0] += 1
        for place, done in enumerate((here, edf, fifo), start=1):
            row[place] += _is_late(job, done)
    return {
        name: Deadlines(due=row[0], missed=row[1], missed_by_edf=row[2], missed_by_fifo=row[3])
        for name, row in counted.items()
    }


def _key(job: Job) -> NodeKey:
    return job.graph_id, job.node.node_id


def _is_late(job: Job, done: dict[NodeKey, int]) -> bool:
    end = done.get(_key(job))
    return end is None or (job.due is not None and end > job.due)


def _together(every: Iterable[Deadlines]) -> Deadlines:
    rows = list(every)
    return Deadlines(
        due=sum(each.due for each in rows),
        missed=sum(each.missed for each in rows),
        missed_by_edf=sum(each.missed_by_edf for each in rows),
        missed_by_fifo=sum(each.missed_by_fifo for each in rows),
    )
