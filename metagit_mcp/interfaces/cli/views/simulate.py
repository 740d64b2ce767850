"""How a simulated run looks to people. It must not print, nor know what is fair."""

from collections.abc import Iterator, Sequence
from typing import Final

from metagit_mcp.interfaces.cli.output import Block, Table
from metagit_mcp.interfaces.cli.views.schedule import counted
from metagit_mcp.wire.simulation import SimulatedGroupAnswer, SimulationAnswer

_MOST_ROWS: Final = 20
_ID: Final = frozenset({"group", "class"})


def view_simulation(answer: SimulationAnswer) -> Iterator[Block]:
    """Yield what the run is worth as a whole and Group by Group, those nearest to their bound first."""
    yield answer.title or "Workload"
    yield (
        f"  {counted(len(answer.groups), 'Group')}, {counted(answer.agents, 'agent')}, "
        f"{counted(answer.slots, 'slot')}, ordering {answer.ordering}, seed {answer.seed}"
    )
    yield (
        f"  {duration(answer.seconds)}: {answer.started} of {counted(answer.nodes, 'node')} started, "
        f"{answer.finished} finished, {counted(answer.cost, 'unit')} of cost"
    )
    yield from _verdicts(answer)
    ranked = sorted(answer.groups, key=lambda each: (-each.turn.cost_ratio, each.graph_id))
    shown = ranked if len(ranked) <= _MOST_ROWS else ranked[:_MOST_ROWS]
    yield _shares(shown)
    yield _waits(shown)
    yield _turns(shown)
    yield _deadlines([each for each in shown if each.deadlines.due])
    if len(ranked) > len(shown):
        yield f"{len(ranked) - len(shown)} more Groups: --json has them all"


def _verdicts(answer: SimulationAnswer) -> Iterator[Block]:
    if answer.jain_index is not None:
        yield f"  Jain index of cost by weight: {answer.jain_index:.4f}"
    starved = max(answer.largest_cost_ratio, answer.largest_seconds_ratio) > 1
    yield (
        f"  longest turn by its bound: {answer.largest_cost_ratio:.4f} of cost, {answer.largest_seconds_ratio:.4f} of "
        f"seconds{': somebody starved' if starved else ''}"
    )
    dates = answer.deadlines
    if dates.due:
        yield (
            f"  {dates.missed} of {counted(dates.due, 'deadline')} missed; {dates.missed_by_edf} under earliest "
            f"deadline first, {dates.missed_by_fifo} under first in, first out"
        )


def duration(seconds: int) -> str:
    """Return a time as its two largest units."""
    for size, name, below, part in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            rest = seconds % size // below
            return f"{seconds // size} {name} {rest} {part}" if rest else f"{seconds // size} {name}"
    return f"{seconds} s"


def _shares(groups: Sequence[SimulatedGroupAnswer]) -> Table:
    return _table(
        "Shares of the cost while they had work",
        ("group", "class", "weight", "nodes", "started", "cost", "share", "by weight", "ratio"),
        [
            (
                each.graph_id,
                each.priority_class,
                str(each.weight),
                str(each.nodes),
                str(each.started),
                str(each.cost),
                *_share(each),
            )
            for each in groups
        ],
    )


def _share(group: SimulatedGroupAnswer) -> tuple[str, str, str]:
    share = group.share
    if share is None:
        return "", "", ""
    return f"{share.received:.4f}", f"{share.by_weight:.4f}", f"{share.ratio:.4f}"


def _waits(groups: Sequence[SimulatedGroupAnswer]) -> Table:
    return _table(
        "Waits of nodes",
        ("group", "p50", "p95", "longest", "others' starts p50", "p95", "most"),
        [
            (
                each.graph_id,
                *(duration(n) for n in (each.wait_seconds.p50, each.wait_seconds.p95, each.wait_seconds.most)),
                *map(str, (each.wait_dispatches.p50, each.wait_dispatches.p95, each.wait_dispatches.most)),
            )
            for each in groups
        ],
    )


def _turns(groups: Sequence[SimulatedGroupAnswer]) -> Table:
    return _table(
        "Longest turns: what others got between two starts of a Group that could start more",
        ("group", "starts", "cost", "bound", "ratio", "time", "bound", "ratio"),
        [
            (
                each.graph_id,
                str(each.turn.dispatches),
                str(each.turn.cost),
                f"{each.turn.cost_bound:.1f}",
                f"{each.turn.cost_ratio:.4f}",
                duration(each.turn.seconds),
                duration(each.turn.seconds_bound),
                f"{each.turn.seconds_ratio:.4f}",
            )
            for each in groups
        ],
    )


def _deadlines(groups: Sequence[SimulatedGroupAnswer]) -> Table:
    return _table(
        "Deadlines missed",
        ("group", "due", "missed", "under EDF", "under FIFO"),
        [
            (
                each.graph_id,
                *map(
                    str,
                    (
                        each.deadlines.due,
                        each.deadlines.missed,
                        each.deadlines.missed_by_edf,
                        each.deadlines.missed_by_fifo,
                    ),
                ),
            )
            for each in groups
        ],
    )


def _table(title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table(title=title, header=header, rows=tuple(rows), numbers=frozenset(header) - _ID)
