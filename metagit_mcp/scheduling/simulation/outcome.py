"""What a run is worth, in exact numbers: shares, waits and turns against their bounds, deadlines. Knows no rule."""

from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction

from metagit_mcp.domain.policy import PriorityClass
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.simulation.bounds import Bound
from metagit_mcp.scheduling.simulation.course import Course


@value
class Quantiles:
    """The middle, the 95th percentile and the most of some whole numbers, by nearest rank; 0 of none."""

    p50: int = 0
    p95: int = 0
    most: int = 0


@value
class Turn:
    """The most that happened between two services of a Group that was eligible all the while, each figure by itself.

    `dispatches` and `cost` are the starts of other Groups and their charges, corrected where a lease ended; `seconds`
    is how long it got nothing.
    """

    dispatches: int = 0
    cost: int = 0
    seconds: int = 0


@value
class Deadlines:
    """How many nodes were due in the run, and how many of them were late: here, under EDF and under FIFO.

    A deadline that comes before the node could be done, had it started at once, does not count.
    """

    due: int = 0
    missed: int = 0
    missed_by_edf: int = 0
    missed_by_fifo: int = 0


@value
class GroupOutcome:
    """What one Group got; `paused` is how often work of it made room for another's.

    While it was backlogged, which began `backlogs` times, work of `dispatched` units was started in all, `received` of
    them its own, and `expected` is what its weights give of them. Waits are those of nodes, from when they could be
    started to when they were, or to the end of the run.
    """

    graph_id: str
    priority_class: PriorityClass
    weight: int
    nodes: int
    started: int
    finished: int
    paused: int
    never_fit: int
    cost: int
    received: int
    dispatched: int
    backlogs: int
    expected: Fraction
    wait_seconds: Quantiles
    wait_dispatches: Quantiles
    turn: Turn
    bound: Bound
    deadlines: Deadlines


@value
class Step:
    """One stretch of the run, from just after the step before it up to `until`: for the picture.

    By Group: the cost that was started, what its weights give of all that was started, and for how many seconds at the
    most it could have started something and did not, up to a start or to the end of the stretch.
    """

    until: int
    received: Mapping[str, int] = field(default_factory=dict)
    expected: Mapping[str, Fraction] = field(default_factory=dict)
    longest_wait: Mapping[str, int] = field(default_factory=dict)


@value
class Outcome:
    """What the run of a workload is worth: Group by Group in the order of their ids, and as a whole.

    `jain` is the fairness index of R. Jain on what each Group received by what its weights give, 1 for equal shares
    and 1/n for one that got everything; None where nothing was shared. A Group whose weights gave it less than its
    dearest node each time it had work, on the average, does not count.
    """

    course: Course
    groups: tuple[GroupOutcome, ...]
    jain: Fraction | None
    deadlines: Deadlines
    steps: tuple[Step, ...]
