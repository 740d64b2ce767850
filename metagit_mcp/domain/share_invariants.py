"""What holds of shares, ages, holds and requests to pause after every event. Knows no event and no command.

The bounds of scheduling.md §4 need a history; these are about one state.
"""

from collections.abc import Iterator

from metagit_mcp.domain.charging import RECENT_KEPT
from metagit_mcp.domain.shares import Level, Pool, Round, Shares, pool_name
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import NodeKey


def violations_of_shares(state: LedgerState) -> Iterator[str]:
    """Yield what does not hold of the shares, one line each."""
    shares = state.shares
    for name, pool in shares.pools.items():
        yield from _of_pool(name, pool)
    for graph_id, each in shares.rounds.items():
        yield from (f"the dispatches of {graph_id}: {wrong}" for wrong in _of_round(each))
    yield from _of_hold(state)
    yield from _of_requests(state)
    yield from _of_runs(shares)
    if len(shares.recent) > RECENT_KEPT:
        yield f"{len(shares.recent)} charges are remembered"


def _of_pool(name: str, pool: Pool) -> Iterator[str]:
    if name != pool_name(pool.satisfied):
        yield f"pools keep {pool_name(pool.satisfied)!r} under {name!r}"
    for level_name, level in pool.levels.items():
        for wrong in _of_level(level):
            yield f"level {level_name!r} of pool {name!r}: {wrong}"


def _of_level(level: Level) -> Iterator[str]:
    """Yield what breaks I1 and I2 of scheduling.md §4 already in this state."""
    eligible = {name: flow for name, flow in level.flows.items() if flow.eligible}
    if level.eligible != len(eligible):
        yield f"{level.eligible} flows are said to be eligible, and {len(eligible)} are"
    for name, flow in eligible.items():
        if flow.tag < level.virtual:
            yield f"{name} is eligible at {flow.tag}, below V {level.virtual}"
    highest = max((flow.tag for flow in level.flows.values()), default=level.virtual)
    if level.top < max(highest, level.virtual):
        yield f"the largest tag is {max(highest, level.virtual)}, and not {level.top}"


def _of_round(known: Round) -> Iterator[str]:
    if known.guarded_at is not None and not 0 < known.guarded_at <= known.dispatches:
        yield f"the guard picked at {known.guarded_at} of {known.dispatches}"
    if (known.lacking is None) != (known.lacking_starts == 0):
        yield f"{known.lacking_starts} starts while {known.lacking} lacks quota"
    # The order in which they stand is that of their numbers.
    numbers = [age.number for age in known.ages.values()]
    if numbers != sorted(set(numbers)) or (numbers and numbers[-1] >= known.numbered):
        yield f"the numbers of ages are {numbers} of {known.numbered}"
    for node_id, age in known.ages.items():
        passed = age.passed if age.since is None else known.dispatches - age.since
        if not 0 <= passed <= known.dispatches - age.first or (age.since is not None and age.passed):
            yield f"{node_id} came at {age.first} and was passed over {passed} times"


def _of_hold(state: LedgerState) -> Iterator[str]:
    holds = state.shares.holds
    if len(holds) > 1:
        yield f"slots are held for {len(holds)} nodes"
    for hold in holds:
        if _is_active(state, hold.key):
            yield f"slots are held for {_named(hold.key)}, which runs"
    for lease_id, asked in state.shares.preemptions.items():
        key = (asked.graph_id, asked.node_id)
        if lease_id != asked.lease_id:
            yield f"preemptions keep {asked.lease_id} under {lease_id}"
        if asked.lease_id not in state.leases:
            yield f"lease {asked.lease_id} is asked to pause and is not live"
        if not any(hold.preempts and hold.key == key for hold in holds):
            yield f"lease {asked.lease_id} is asked to pause for {_named(key)}, for which no slot is held"
    if len(state.shares.preemptions) > 1:
        yield f"{len(state.shares.preemptions)} leases are asked to pause at a time"


def _of_requests(state: LedgerState) -> Iterator[str]:
    for graph_id, nodes in state.shares.asked.items():
        if not nodes:
            yield f"nodes of {graph_id} asked others to pause, but none is named"
        for node_id, slots in nodes.items():
            if slots < 1 or _is_active(state, (graph_id, node_id)):
                yield f"{_named((graph_id, node_id))} waits for {slots} slots that it asked for"


def _of_runs(shares: Shares) -> Iterator[str]:
    for graph_id, runs in shares.runs.items():
        if not runs:
            yield f"runs of {graph_id} are charged, but none is named"
        for node_id, run in runs.items():
            if (graph_id, node_id) != (run.graph_id, run.node_id):
                yield f"runs keep {_named((run.graph_id, run.node_id))} under {_named((graph_id, node_id))}"


def _is_active(state: LedgerState, key: NodeKey) -> bool:
    item = state.item(key)
    return item is not None and item.state == "active"


def _named(key: NodeKey) -> str:
    return f"node {key[1]} of {key[0]}"
