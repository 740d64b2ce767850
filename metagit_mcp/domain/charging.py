"""The fold over starts and ends of work: tags, ages, holds (scheduling.md §2, 3 and 6). Decides nothing.

A pick comes with the tags that it leads to in its own pool; what it costs in the others follows from here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from metagit_mcp.domain.share_events import (
    HoldEnded,
    HoldFilled,
    PoolRested,
    PreemptionRequested,
    RunEnded,
    RunSeen,
    ShareEvent,
    SlotsHeld,
)
from metagit_mcp.domain.shares import (
    ANYBODY,
    LCM,
    ROOT,
    Age,
    Charged,
    Dispatch,
    FlowTag,
    Hold,
    Level,
    LevelChange,
    Pool,
    PoolChange,
    Preemption,
    Round,
    Shares,
)
from metagit_mcp.domain.value import changed
from metagit_mcp.domain.work import ExecutionLease, NodeKey, Share

# The newest charges are remembered, to show who received what.
RECENT_KEPT: Final = 200


def retagged(tag: int, virtual: int, weight_before: int, weight: int) -> int:
    """Return the tag after a change of weight: raising it brings the flow nearer to V, lowering it changes nothing."""
    if weight <= weight_before or tag <= virtual:
        return tag
    return virtual + (tag - virtual) * weight_before // weight


def units_of(slots: int, tokens: int) -> int:
    """Return the charge of work in units: its slots times the thousands of tokens, at least one (scheduling.md §1)."""
    return slots * max(1, -(-tokens // 1000))


# --- starts ---------------------------------------------------------------------------------------------------------


def dispatched(shares: Shares, lease: ExecutionLease, dispatch: Dispatch | None, at: datetime) -> None:
    """Charge a start, count it as a dispatch of its Group, and end what was kept for it."""
    _met_by_start(shares, lease.key)
    if dispatch is None:
        return
    for node_id in dispatch.left:
        # When it comes back, it is another arrival.
        forget_asked(shares, (lease.graph_id, node_id))
    before = shares.rounds.get(lease.graph_id) or Round()
    shares.rounds[lease.graph_id] = _next_round(before, lease, dispatch, at)
    if dispatch.share is None:
        # Where nodes are ordered by score nothing is charged; back to shares, all tags start equal.
        shares.pools.clear()
        return
    charged = Charged(graph_id=lease.graph_id, priority_class=dispatch.share.priority_class, cost=lease.holding.cost)
    shares.recent.append(charged)
    del shares.recent[:-RECENT_KEPT]
    if dispatch.pick is not None:
        _told(shares, dispatch.pick)
    picked_in = None if dispatch.pick is None else dispatch.pick.name
    others = [pool for name, pool in _pools(shares).items() if name != picked_in]
    windows = (dispatch.class_window, dispatch.group_window)
    _charge(others, dispatch.share, lease.graph_id, lease.holding.cost, windows)


def _pools(shares: Shares) -> Mapping[str, Pool]:
    """Return the pools; the first start of all makes the one that anybody is in."""
    if not shares.pools:
        shares.pools[ANYBODY] = Pool()
    return shares.pools


def _told(shares: Shares, change: PoolChange) -> None:
    name = change.name
    if name not in shares.pools:
        split_from = shares.pools.get(change.split_from) if change.split_from is not None else None
        shares.pools[name] = replace((split_from or Pool()).branch(), satisfied=change.satisfied)
    pool = shares.pools[name]
    for each in change.levels:
        pool.levels[each.level] = _level_after(pool.levels.get(each.level) or Level(), each)
    for dropped in change.dropped:
        shares.pools.pop(dropped, None)


def _level_after(level: Level, change: LevelChange) -> Level:
    flows, eligible = level.flows, level.eligible
    for name, flow in change.flows.items():
        before = flows.get(name)
        eligible += flow.eligible - (before is not None and before.eligible)
        flows[name] = flow
    for name in change.gone:
        gone = flows.pop(name, None)
        eligible -= gone is not None and gone.eligible
    top = max((level.top, change.virtual, *(flow.tag for flow in change.flows.values())))
    return changed(level, virtual=change.virtual, top=top, eligible=eligible)


def _charge(pools: Iterable[Pool], share: Share, graph_id: str, cost: int, windows: tuple[int, int]) -> None:
    """Charge a start that was no pick of these pools: its flow goes at most one window and its charge past V."""
    for pool in pools:
        for name, flow, weight, window in (
            (ROOT, share.priority_class, share.class_weight, windows[0]),
            (share.priority_class, graph_id, share.group_weight, windows[1]),
        ):
            level = pool.levels.get(name) or Level()
            level.flows[flow] = tag = _charged(level, level.flows.get(flow), weight, cost * LCM // weight, window)
            pool.levels[name] = changed(level, top=max(level.top, tag.tag))


def _charged(level: Level, before: FlowTag | None, weight: int, step: int, window: int) -> FlowTag:
    if before is None:
        before = FlowTag(tag=level.virtual, weight=weight)
    tag = retagged(before.tag, level.virtual, before.weight, weight)
    if not before.eligible:
        tag = max(level.virtual, tag)
    most = level.virtual + window * LCM + step
    return FlowTag(tag=max(tag, min(tag + step, most)), weight=weight, eligible=before.eligible, charged=True)


def _next_round(before: Round, lease: ExecutionLease, dispatch: Dispatch, at: datetime) -> Round:
    """Return the round after a dispatch: everybody who waits was passed over once more, but the node itself."""
    ages = before.ages
    for node_id in dispatch.left:
        age = ages[node_id]
        ages[node_id] = replace(age, since=None, passed=before.dispatches - (age.since or 0))
    numbered = before.numbered
    for node_id in dispatch.arrived:
        known = ages.get(node_id)
        if known is not None:
            # It keeps its number and its place.
            ages[node_id] = replace(known, since=before.dispatches - known.passed, passed=0)
        else:
            ages[node_id] = Age(number=numbered, first=before.dispatches, at=at, since=before.dispatches)
            numbered += 1
    ages.pop(lease.node_id, None)
    count = before.dispatches + 1
    is_same = dispatch.lacking is not None and dispatch.lacking == before.lacking
    return Round(
        dispatches=count,
        guarded_at=count if dispatch.guard else before.guarded_at,
        numbered=numbered,
        ages=ages,
        lacking=dispatch.lacking,
        lacking_starts=before.lacking_starts + 1 if is_same else int(dispatch.lacking is not None),
    )


def _met_by_start(shares: Shares, key: NodeKey) -> None:
    hold = shares.hold
    if hold is not None and hold.key == key:
        _forget_hold(shares)
    elif hold is not None:
        shares.holds[:] = [replace(hold, starts=hold.starts + 1)]
    forget_asked(shares, key)


def forget_asked(shares: Shares, key: NodeKey) -> None:
    """Forget that others were asked to pause for a node: it starts, or it will not."""
    of_group = shares.asked.get(key[0], {})
    of_group.pop(key[1], None)
    if not of_group:
        shares.asked.pop(key[0], None)


def _forget_hold(shares: Shares) -> None:
    """End the hold there is; nobody need pause for its node any more."""
    key = shares.holds[0].key
    shares.holds.clear()
    _withdraw(shares, key)


def _withdraw(shares: Shares, key: NodeKey) -> None:
    """Ask nobody any more to pause for a node."""
    for lease_id, each in list(shares.preemptions.items()):
        if (each.graph_id, each.node_id) == key:
            del shares.preemptions[lease_id]


# --- ends -----------------------------------------------------------------------------------------------------------


def corrected(shares: Shares, lease: ExecutionLease) -> None:
    """Correct the charge of a lease that ended by what was really used (scheduling.md §3 rule 6)."""
    shares.preemptions.pop(lease.lease_id, None)
    share, tokens = lease.share, lease.usage.tokens
    if share is None or not tokens:
        return
    excess = units_of(lease.holding.slots, tokens) - lease.holding.cost
    for pool in shares.pools.values() if excess else ():
        _correct(pool, ROOT, share.priority_class, share.class_weight, excess)
        _correct(pool, share.priority_class, lease.graph_id, share.group_weight, excess)


def _correct(pool: Pool, name: str, flow: str, weight: int, excess: int) -> None:
    level = pool.levels.get(name)
    before = None if level is None else level.flows.get(flow)
    if level is None or before is None:
        return
    tag = before.tag + excess * (LCM // max(weight, before.weight))
    if before.eligible:
        tag = max(level.virtual, tag)
    level.flows[flow] = replace(before, tag=tag)
    pool.levels[name] = replace(level, top=max(level.top, tag))


# --- holds, preemption, runs of others --------------------------------------------------------------------------------


def _evolve_run_seen(shares: Shares, event: RunSeen) -> NodeKey:
    run = event.run
    shares.runs.setdefault(run.graph_id, {})[run.node_id] = run
    windows = (event.class_window, event.group_window)
    _charge(_pools(shares).values(), run.share, run.graph_id, run.cost, windows)
    return run.graph_id, run.node_id


def _evolve_run_ended(shares: Shares, event: RunEnded) -> NodeKey:
    of_group = shares.runs[event.graph_id]
    del of_group[event.node_id]
    if not of_group:
        del shares.runs[event.graph_id]
    return event.graph_id, event.node_id


def _evolve_pool_rested(shares: Shares, event: PoolRested) -> None:
    _told(shares, event.change)


def _evolve_slots_held(shares: Shares, event: SlotsHeld) -> NodeKey:
    shares.holds[:] = [Hold(graph_id=event.graph_id, node_id=event.node_id, slots=event.slots, at=event.at)]
    return shares.holds[0].key


def _evolve_hold_filled(shares: Shares, event: HoldFilled) -> NodeKey:
    shares.holds[:] = [replace(shares.holds[0], until=event.until)]
    # Nobody need make room any more.
    _withdraw(shares, shares.holds[0].key)
    return shares.holds[0].key


def _evolve_hold_ended(shares: Shares, event: HoldEnded) -> NodeKey:
    if not event.lapsed:
        # When it comes back, it is another arrival.
        forget_asked(shares, (event.graph_id, event.node_id))
    _forget_hold(shares)
    return event.graph_id, event.node_id


def _evolve_preemption_requested(shares: Shares, event: PreemptionRequested) -> NodeKey:
    of_group = shares.asked.setdefault(event.graph_id, {})
    of_group[event.node_id] = of_group.get(event.node_id, 0) + 1
    shares.preemptions[event.lease_id] = Preemption(
        lease_id=event.lease_id, graph_id=event.graph_id, node_id=event.node_id, at=event.at
    )
    held = Hold(graph_id=event.graph_id, node_id=event.node_id, slots=event.slots, at=event.at, preempts=True)
    if shares.hold is not None and shares.hold.key == held.key:
        # It was held before: one more is asked.
        held = replace(shares.hold, preempts=True)
    shares.holds[:] = [held]
    return held.key


def happened_to(shares: Shares, event: ShareEvent) -> NodeKey | None:
    """Let an event of slots or shares happen; return the node that it was about, if it was about one."""
    return EVOLVE_SHARES[type(event)](shares, event)


EVOLVE_SHARES: Final[Mapping[type[ShareEvent], Callable[[Shares, Any], NodeKey | None]]] = {
    RunSeen: _evolve_run_seen,
    RunEnded: _evolve_run_ended,
    PoolRested: _evolve_pool_rested,
    SlotsHeld: _evolve_slots_held,
    HoldFilled: _evolve_hold_filled,
    HoldEnded: _evolve_hold_ended,
    PreemptionRequested: _evolve_preemption_requested,
}
