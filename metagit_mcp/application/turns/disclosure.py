"""Tells a Group when its work starts and ends, when asked and when that changes; nothing of any other Group.

How an estimate is made stands in scheduling/estimate.py; this puts it into words and says when it is due.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from metagit_mcp.application.turns.shared import View
from metagit_mcp.application.turns.turn import Turn
from metagit_mcp.domain.feed_events import EstimatePublished
from metagit_mcp.domain.feeds import Told
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.text import shown
from metagit_mcp.domain.work import WorkItem
from metagit_mcp.errors import GroupNotFound, NodeNotFound
from metagit_mcp.scheduling.estimate import Forecast, Record, ScheduleEstimate, StartWindow
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.ways import Unknown
from metagit_mcp.wire.estimate_answers import EstimateAnswer

_WHY: Final[dict[Unknown, str]] = {
    "finished": "all of it is finished: there is nothing to estimate",
    "paused": "scheduling is paused, and nobody knows for how long",
    "needs_person": "a person has to act first, for this or for what it waits for",
    "with_group": "the Group itself has to act first, for this or for what it waits for",
    "never_fits": "it needs more slots than it may ever have",
    "no_slot_limit": "the policy has no limit of slots (slots: null), so that no turn can be counted",
    "no_shares": 'ordering is "score": no Group is guaranteed a turn',
}
_SHARED: Final = "not counted: waits for resources, exclusive keys and write scopes that others may hold"


def estimate(view: View, group_id: str, node_id: str | None = None) -> EstimateAnswer:
    """Return what the Group may be told of its next start and its end, or of those of one of its nodes.

    Raises:
        GroupNotFound: there is no such Group; which others there are is not said.
        NodeNotFound: it has no such node.
    """
    group = view.queue.groups.get(group_id)
    if group is None:
        raise GroupNotFound(f"There is no Group {shown(group_id)}.", hint="Check its id.", group_id=shown(group_id))
    if node_id is not None and node_id not in group.rules.shape.by_id:
        raise NodeNotFound(
            f"The Group has no node {shown(node_id)}.",
            hint="Check its id; none asks for the whole Group.",
            node_id=shown(node_id),
        )
    forecast = _forecast(view, group)
    found = forecast.whole() if node_id is None else forecast.node(node_id)
    return EstimateAnswer(
        group_id=group_id,
        node_id=node_id,
        confidence=found.confidence,
        capacity_status=found.capacity_status,
        last_calculated_at=found.last_calculated_at,
        estimated_start=found.estimated_start,
        estimated_completion=found.estimated_completion,
        warnings=tuple(_warnings(group, node_id, found)),
        next_step=_next_step(found),
    )


def _forecast(view: View, group: GroupQueue) -> Forecast:
    feed = view.work.feeds.get(group.graph_id)
    record = None if feed is None else Record(kept=feed.came_true, missed=feed.failed_to)
    mine = {("workspace", ""), ("group", group.graph_id)}
    paused = any((pause.scope, pause.name) in mine for pause in view.work.pauses_at(view.now))
    return Forecast(group, view.policy, view.now, record, paused=paused)


def _warnings(group: GroupQueue, node_id: str | None, found: ScheduleEstimate) -> Iterator[str]:
    if found.unknown is not None:
        what = "no start" if found.estimated_start is None else "no end"
        yield f"{what} can be told: {_WHY[found.unknown]}"
    by_id = group.rules.shape.by_id
    nodes = by_id.values() if node_id is None else [by_id[node_id]]
    if found.estimated_start is not None and any(node.uses or node.exclusive or node.touches for node in nodes):
        yield _SHARED


def _next_step(found: ScheduleEstimate) -> str:
    if found.capacity_status == "blocked":
        return "metagit_schedule_status with node_id says what it waits for."
    if found.estimated_start is None:
        return "Nothing need be done."
    return "Ask again when the Group's work has changed: what is told rests on its own queue as it is now."


# --- telling it unasked -----------------------------------------------------------------------------------------------


def publish(turn: Turn) -> None:
    """Let the Groups be told what is due of which something changed; without a usable policy nothing can be told."""
    if turn.image.policy is None:
        return
    for group_id in sorted(turn.fed_groups):
        # The queue is not looked at for a Group of which nobody here has anything.
        if _is_worked_on(turn.state, group_id):
            turn.happen(due_estimates(turn.view(), group_id))


def _is_worked_on(state: LedgerState, group_id: str) -> bool:
    return any(lease.graph_id == group_id for lease in state.leases.values()) or any(
        key[0] == group_id for key in state.terms
    )


def due_estimates(view: View, group_id: str) -> Iterator[EstimatePublished]:
    """Yield what a Group that is fed by Events is to be told now, of the work that agents here have accepted.

    That is what was never told, and what was told and changed materially: the rounded figures, the status, or that
    they are past and nothing happened. Where there is no window nothing is told: the Command has no words for that.
    """
    feed, group = view.work.feeds.get(group_id), view.queue.groups.get(group_id)
    if feed is None or group is None:
        return
    accepted = [item for item in view.work.items.get(group_id, {}).values() if _is_accepted(item)]
    if not accepted:
        return
    forecast = _forecast(view, group)
    for item in accepted:
        told = _published(item, forecast.node(item.node_id))
        if told is not None and is_material(feed.told.get(item.node_id), told):
            yield told


def _is_accepted(item: WorkItem) -> bool:
    return item.fed is not None and item.owner is not None and item.state in {"queued", "active"}


def _published(item: WorkItem, found: ScheduleEstimate) -> EstimatePublished | None:
    window: StartWindow | None = found.estimated_start
    if window is None or found.estimated_completion is None:
        return None
    return EstimatePublished(
        at=found.last_calculated_at,
        graph_id=item.graph_id,
        node_id=item.node_id,
        agent_id=item.owner or "",
        start_from=window.earliest,
        start_to=window.latest,
        completion=found.estimated_completion,
        confidence_percent=round(100 * found.confidence),
        capacity_status=found.capacity_status,
    )


def is_material(before: Told | None, now: EstimatePublished) -> bool:
    """Say whether what is told now says something else than before.

    Figures are compared as they were rounded, from the instant of the estimate on: time that passes is no news, as long
    as what was told may still come true.
    """
    if before is None or before.capacity_status != now.capacity_status:
        return True
    if now.start_from == now.start_to:
        return (before.start_from, before.start_to) != (now.start_from, now.start_to) or now.at > before.completion
    return now.at > before.start_to or _figures(before) != _figures(now)


def _figures(told: Told | EstimatePublished) -> tuple[timedelta, ...]:
    return told.start_from - told.at, told.start_to - told.at, told.completion - told.at
