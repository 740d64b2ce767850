"""The whole order of work: what claims in a row would get now, then what follows as slots come free. Changes nothing.

A node stands in line when nothing but its turn is missing: a slot, or one that is kept for another node. Knows neither
files nor how answers look.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Final

from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.share_events import ShareEvent
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import NodeKey
from metagit_mcp.scheduling.choice import Pick, choose
from metagit_mcp.scheduling.cycle import reasons_against
from metagit_mcp.scheduling.eligibility import Reason, ReasonKind
from metagit_mcp.scheduling.moment import Moment
from metagit_mcp.scheduling.settling import unsettled
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.standing import SkippedHead, Standing
from metagit_mcp.scheduling.workspace import WorkspaceQueue

# The reasons that end by themselves once it is a node's turn.
OF_TURN: Final[frozenset[ReasonKind]] = frozenset({"agent_slots", "reserved", "no_slot"})
# What happens first, and then the start that it leads to.
_Step = tuple[Sequence[ShareEvent], Pick | None]


@value
class Lineup:
    """The nodes in line: those that as many claims at once would get, and those that come after them.

    `steps` is how the first were found, and `most` how many nodes were asked for.
    """

    now: tuple[Pick, ...]
    later: tuple[Pick, ...]
    steps: tuple[_Step, ...]
    most: int


def lineup(queue: WorkspaceQueue, asker: Asker, limit: int, graph_id: str | None = None) -> Lineup:
    """Return the first `limit` nodes in line, of one Group or of all.

    `now` is what `plan` says. `later` are first those that would be given as if no slot were ever missing, then those
    that the starts before them keep out, by their score.
    """
    question = ("lineup", asker, limit, graph_id)
    if question in queue.plans:
        known: Lineup = queue.plans[question]
        return known
    now, later, steps = _tried(queue, asker, limit, graph_id)
    moment = queue.moment(asker)
    later = [pick for pick in later if is_in_line(moment, pick.graph_id, pick.node.node_id)]
    left = limit - len(now) - len(later)
    if left:
        picked = {(pick.graph_id, pick.node.node_id) for pick in (*now, *later)}
        later += _kept_out(moment, left, graph_id, picked)
    found = Lineup(now=tuple(now), later=tuple(later), steps=tuple(steps), most=limit)
    queue.keep(question, found)
    return found


def _tried(
    queue: WorkspaceQueue, asker: Asker, limit: int, graph_id: str | None
) -> tuple[list[Pick], list[Pick], list[_Step]]:
    from metagit_mcp.scheduling.trial import Trial  # noqa: PLC0415 - mere advice loads no event

    now: list[Pick] = []
    later: list[Pick] = []
    steps: list[_Step] = []
    with Trial(queue, asker, limit) as trial:
        steps.append((unsettled(queue, Instant(wall=queue.now)), None))
        trial.happen(steps[0][0])
        while len(now) < limit:
            choice = choose(queue, asker, graph_id)
            trial.happen(choice.events)
            steps.append((choice.events, choice.pick))
            if choice.pick is None:
                break
            now.append(choice.pick)
            trial.start(choice.pick)
            steps.append((unsettled(queue, Instant(wall=queue.now)), None))
            trial.happen(steps[-1][0])
        while len(now) + len(later) < limit:
            # As if nothing ran and nothing were kept; the next start, and the end of the trial, tell how it is.
            queue.moment(asker).meet(0, None)
            pick = choose(queue, asker, graph_id).pick
            if pick is None:
                break
            later.append(pick)
            trial.start(pick)
    return now, later, steps


def is_in_line(moment: Moment, graph_id: str, node_id: str) -> bool:
    """Say whether a node waits for its turn alone."""
    standing, hold = moment.standing(graph_id), moment.situation.hold
    place = standing.group.lanes.place_of.get(node_id)
    if place is None:
        return False
    if hold is not None and hold.key == (graph_id, node_id) and moment.held_offer(hold) is not None:
        return True
    return _gives(standing, place)


def _gives(standing: Standing, place: int) -> bool:
    """Say whether what lies in a lane waits for its turn alone."""
    free = standing.quota_left
    if standing.kinds[place] is not None:
        return False
    return free is None or (not standing.is_stopped and standing.group.lanes[place].demand.slots <= free)


def _kept_out(moment: Moment, limit: int, graph_id: str | None, picked: set[NodeKey]) -> list[Pick]:
    """Return the best `limit` nodes in line that no trial gave."""
    # A lane can give one of the best only if its head is among the best heads.
    deep = limit + len(picked)
    lanes = nsmallest(deep, _heads(moment, moment.groups if graph_id is None else (graph_id,)))
    entries = (entry for *_, name, place in lanes for entry in _entries(moment, name, place, deep))
    best = nsmallest(limit, (each for each in entries if (each[4], each[3]) not in picked))
    return [
        Pick(graph_id=name, node=moment.groups[name].by_id[node_id], score=-negative)
        for _, negative, _, node_id, name, _ in best
    ]


def _heads(moment: Moment, graph_ids: Iterable[str]) -> Iterator[SkippedHead]:
    for graph_id in graph_ids:
        standing = moment.standing(graph_id)
        for place in range(len(standing.kinds)):
            if _gives(standing, place):
                yield from _entries(moment, graph_id, place, 1)


def _entries(moment: Moment, graph_id: str, place: int, deep: int) -> Iterator[SkippedHead]:
    for depth in range(deep):
        head = moment.head(moment.groups[graph_id], place, depth)
        if head is None:
            return
        yield (*head[:4], graph_id, place)


def reasons_behind(
    queue: WorkspaceQueue, asker: Asker, found: Lineup, nodes: Sequence[tuple[str, TaskNode]]
) -> Mapping[NodeKey, tuple[Reason, ...]]:
    """Return what stands against nodes once those before them have started that can start now."""
    if not nodes:
        return {}
    question = ("behind", asker, found.most, *((graph_id, node.node_id) for graph_id, node in nodes))
    if question not in queue.plans:
        queue.keep(question, _behind(queue, asker, found, nodes))
    known: Mapping[NodeKey, tuple[Reason, ...]] = queue.plans[question]
    return known


def _behind(
    queue: WorkspaceQueue, asker: Asker, found: Lineup, nodes: Sequence[tuple[str, TaskNode]]
) -> Mapping[NodeKey, tuple[Reason, ...]]:
    from metagit_mcp.scheduling.trial import Trial  # noqa: PLC0415 - as above

    with Trial(queue, asker, found.most) as trial:
        for events, pick in found.steps:
            trial.happen(events)
            if pick is not None:
                trial.start(pick)
        return {(graph_id, node.node_id): reasons_against(queue, asker, graph_id, node) for graph_id, node in nodes}
