"""Workloads to try a policy on without writing one: each has one thing that could starve others. Decides nothing."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from metagit_mcp.domain.policy import CLASSES, SchedulePolicy
from metagit_mcp.scheduling.simulation.lots import Lots
from metagit_mcp.scheduling.simulation.workload import Arrivals, SimulatedGroup, Workload

_HOUR: Final = 3_600


def preset(name: str, seed: int = 0) -> Workload:
    """Return one of `PRESETS`."""
    return PRESETS[name](seed)


def _steady(_: int) -> Workload:
    """Weights and classes against one another, with more work than the agents can do."""
    return Workload(
        title="Four Groups of other weights and classes always have work",
        agents=4,
        duration_seconds=24 * _HOUR,
        groups=(
            SimulatedGroup(graph_id="one", weight=1, arrivals=(_work(220, 300, 4_000),)),
            SimulatedGroup(graph_id="two", weight=2, arrivals=(_work(220, 300, 6_000),)),
            SimulatedGroup(graph_id="five", weight=5, arrivals=(_work(500, 300, 2_000),)),
            SimulatedGroup(graph_id="urgent", priority_class="high", arrivals=(_work(1_000, 300, 3_000),)),
        ),
    )


def _work(nodes: int, runtime: int, tokens: int) -> Arrivals:
    return Arrivals(nodes=nodes, runtime_seconds=runtime, estimated_tokens=tokens, spread_percent=50)


def _one_greedy(_: int) -> Workload:
    """A plan of 400 nodes of the highest priority, which cost far more than was said, against modest Groups."""
    modest = Arrivals(nodes=60, every_seconds=1_200, runtime_seconds=600, estimated_tokens=5_000, spread_percent=40)
    return Workload(
        title="One Group plans 400 nodes at once, calls all of them urgent and says too little of their cost",
        agents=3,
        duration_seconds=20 * _HOUR,
        groups=(
            SimulatedGroup(
                graph_id="greedy",
                arrivals=(
                    Arrivals(
                        nodes=400,
                        runtime_seconds=900,
                        estimated_tokens=5_000,
                        tokens=15_000,
                        spread_percent=20,
                        priority=100,
                        requested_urgency="critical",
                    ),
                ),
            ),
            *(SimulatedGroup(graph_id=f"modest-{number}", arrivals=(modest,)) for number in (1, 2, 3)),
        ),
    )


def _deadline_abuse(_: int) -> Workload:
    """Deadlines that are always past, next to Groups that name true ones or none."""
    kind: dict[str, Any] = {"runtime_seconds": 600, "estimated_tokens": 8_000, "spread_percent": 30}
    late = Arrivals(
        nodes=360, every_seconds=200, due_seconds=-_HOUR, requested_urgency="critical", priority=1_000_000, **kind
    )
    return Workload(
        title="One Group says that all its work is late and critical, one names true deadlines, one names none",
        agents=3,
        duration_seconds=20 * _HOUR,
        groups=(
            SimulatedGroup(graph_id="abuser", arrivals=(late,)),
            SimulatedGroup(
                graph_id="honest", arrivals=(Arrivals(nodes=80, every_seconds=900, due_seconds=_HOUR, **kind),)
            ),
            SimulatedGroup(graph_id="patient", arrivals=(Arrivals(nodes=160, every_seconds=450, **kind),)),
        ),
    )


def _wide(_: int) -> Workload:
    """Nodes that need all slots at once against endless narrow ones."""
    narrow = Arrivals(nodes=300, runtime_seconds=300, estimated_tokens=3_000, spread_percent=50)
    return Workload(
        title="Nodes of four slots, of which there are four, against Groups that fill every slot that is free",
        agents=4,
        duration_seconds=12 * _HOUR,
        groups=(
            SimulatedGroup(
                graph_id="wide",
                arrivals=(
                    Arrivals(
                        nodes=20,
                        every_seconds=1_800,
                        runtime_seconds=600,
                        estimated_tokens=3_000,
                        spread_percent=30,
                        slots=4,
                    ),
                ),
            ),
            *(SimulatedGroup(graph_id=f"narrow-{number}", arrivals=(narrow,)) for number in (1, 2)),
        ),
    )


def _burst(_: int) -> Workload:
    """A hundred nodes at once into a workspace that has just enough agents for what else comes."""
    kind: dict[str, Any] = {"runtime_seconds": 900, "estimated_tokens": 10_000, "spread_percent": 40}
    return Workload(
        title="Two Groups with deadlines have agents enough; after four hours a third brings a hundred nodes at once",
        agents=4,
        groups=(
            SimulatedGroup(
                graph_id="builds",
                weight=2,
                arrivals=(Arrivals(nodes=70, every_seconds=700, due_seconds=_HOUR, **kind),),
            ),
            SimulatedGroup(
                graph_id="reviews", arrivals=(Arrivals(nodes=50, every_seconds=900, due_seconds=2 * _HOUR, **kind),)
            ),
            SimulatedGroup(graph_id="migration", arrivals=(Arrivals(nodes=100, at_seconds=4 * _HOUR, **kind),)),
        ),
    )


def _late_joiner(_: int) -> Workload:
    """A Group that comes when the others have been served for hours, and a sporadic critical one."""
    kind: dict[str, Any] = {"runtime_seconds": 300, "estimated_tokens": 5_000, "spread_percent": 20}
    return Workload(
        title="Two Groups have been served for six hours when a third of the same weight comes; one is rarely critical",
        agents=2,
        duration_seconds=12 * _HOUR,
        groups=(
            SimulatedGroup(graph_id="early-1", arrivals=(Arrivals(nodes=200, **kind),)),
            SimulatedGroup(graph_id="early-2", arrivals=(Arrivals(nodes=200, **kind),)),
            SimulatedGroup(graph_id="late", arrivals=(Arrivals(nodes=120, at_seconds=6 * _HOUR, **kind),)),
            SimulatedGroup(
                graph_id="incidents",
                priority_class="critical",
                arrivals=(Arrivals(nodes=9, at_seconds=2_000, every_seconds=4_500, due_seconds=900, **kind),),
            ),
        ),
    )


def _thousand_groups(seed: int) -> Workload:
    """A thousand Groups of all classes and weights, whose nodes cost 1 to 1,000 units."""
    lots = Lots(seed, _OF_THE_PRESET)
    return Workload(
        title="A thousand Groups of all classes and weights; nodes of 1 to 1,000 units",
        agents=16,
        policy=SchedulePolicy(slots=16),
        groups=tuple(_drawn_group(number, lots) for number in range(1_000)),
    )


# Groups of a workload draw under their places; the preset draws under a name that none of them has.
_OF_THE_PRESET: Final = 1 << 32


def _drawn_group(number: int, lots: Lots) -> SimulatedGroup:
    # Each power of ten is as likely, so that cheap and dear nodes are many.
    tokens = 1_000 * min(1_000, lots.between(1, 10) * 10 ** lots.between(0, 2))
    return SimulatedGroup(
        graph_id=f"group-{number:04d}",
        priority_class=CLASSES[lots.between(0, len(CLASSES) - 1)],
        weight=lots.between(1, 16),
        arrivals=(
            Arrivals(
                nodes=lots.between(2, 6),
                at_seconds=lots.between(0, _HOUR),
                every_seconds=lots.between(0, 2) * 1_800,
                runtime_seconds=lots.between(60, 900),
                estimated_tokens=tokens,
                spread_percent=20,
            ),
        ),
    )


PRESETS: Final[Mapping[str, Callable[[int], Workload]]] = {
    "steady": _steady,
    "one-greedy": _one_greedy,
    "deadline-abuse": _deadline_abuse,
    "wide": _wide,
    "burst": _burst,
    "late-joiner": _late_joiner,
    "thousand-groups": _thousand_groups,
}
