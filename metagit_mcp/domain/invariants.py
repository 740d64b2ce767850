"""What holds of the state of all work after every event, whatever happened. Knows no event and no command.

`docs/reference/invariants.md` tells what is checked here and what only a history can show.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from metagit_mcp.domain.moves import ATTEMPTS_KEPT
from metagit_mcp.domain.policy import SchedulePolicy, quota_for, slots_of_agent
from metagit_mcp.domain.share_invariants import violations_of_shares
from metagit_mcp.domain.state import LedgerState, pause_key
from metagit_mcp.domain.work import ExecutionLease, WorkItem, WorkState

# In which states work may have an owner, and in which it must.
_MAY_BE_OWNED: Final[tuple[WorkState, ...]] = ("queued", "active", "blocked", "submitted", "completed")
_IS_OWNED: Final[tuple[WorkState, ...]] = ("queued", "active", "submitted")


def violations(state: LedgerState, *, is_settled: bool = True) -> list[str]:
    """Return what does not hold of the state, one line each; nothing is the rule.

    `is_settled`: all events of a command happened. Until then leases of a session that just ended may be live.
    """
    found = [*_of_leases(state, is_settled=is_settled), *_of_items(state), *_of_terms(state), *_of_keys(state)]
    return [*found, *violations_of_shares(state)]


def _of_leases(state: LedgerState, *, is_settled: bool) -> Iterator[str]:
    for key, count in Counter(lease.key for lease in state.leases.values()).items():
        if count > 1:
            yield f"node {key[1]} of {key[0]} has {count} live leases"
    for lease_id, lease in state.leases.items():
        item, session = state.item(lease.key), state.sessions.get(lease.agent_id)
        if item is None or not _fits(lease, item):
            yield f"lease {lease_id} is not that of its node"
        live = 0 if session is None else session.epoch
        if lease.session_epoch > live or (is_settled and lease.session_epoch < live):
            yield f"lease {lease_id} is of session {lease.session_epoch}, and its agent is in {live}"
        if lease_id in state.closed:
            yield f"lease {lease_id} is live and ended"
        if (lease.renewal_count > 0) != (lease.last_renewed_at is not None):
            yield f"lease {lease_id} has {lease.renewal_count} renewals, the last at {lease.last_renewed_at}"


def _fits(lease: ExecutionLease, item: WorkItem) -> bool:
    held = (item.state, item.lease_id, item.owner, item.owner_session, item.ownership_epoch)
    return held == ("active", lease.lease_id, lease.agent_id, lease.session_epoch, lease.ownership_epoch)


def _of_items(state: LedgerState) -> Iterator[str]:
    for graph_id, items in state.items.items():
        for node_id, item in items.items():
            for wrong in _of_item(state, item):
                yield f"node {node_id} of {graph_id} is {item.state} and {wrong}"


def _of_item(state: LedgerState, item: WorkItem) -> Iterator[str]:
    is_owned = item.owner is not None
    if (item.state == "active") != (item.lease_id is not None):
        yield f"has lease {item.lease_id}"
    if item.lease_id is not None and item.lease_id not in state.leases:
        yield f"its lease {item.lease_id} is not live"
    if is_owned and item.state not in _MAY_BE_OWNED:
        yield f"has owner {item.owner}"
    if item.state in _IS_OWNED and not (is_owned and item.ownership_epoch > 0):
        yield f"has no owner at epoch {item.ownership_epoch}"
    if (item.until is not None) != (item.state == "queued" or (item.state == "blocked" and is_owned)):
        yield f"its ownership ends at {item.until}"
    session = state.sessions.get(item.owner or "")
    if item.owner_session > (0 if session is None else session.epoch) or (item.owner_session > 0) != is_owned:
        yield f"is owned by session {item.owner_session} of {item.owner}"
    if max(len(item.attempts), len(item.evidence)) > ATTEMPTS_KEPT:
        yield f"keeps {len(item.attempts)} attempts and {len(item.evidence)} pieces of evidence"


def _of_terms(state: LedgerState) -> Iterator[str]:
    ends = {item.key: item.until for items in state.items.values() for item in items.values() if item.until}
    if state.terms != ends:
        wrong = sorted(set(ends.items()) ^ set(state.terms.items()), key=repr)
        yield f"the terms of {sorted({key for key, _ in wrong})} are not those of their nodes"


def _of_keys(state: LedgerState) -> Iterator[str]:
    names: dict[str, list[tuple[object, object]]] = {
        "items": [
            ((graph_id, node_id), item.key) for graph_id, own in state.items.items() for node_id, item in own.items()
        ],
        "leases": [(key, each.lease_id) for key, each in state.leases.items()],
        "closed": [(key, each.lease_id) for key, each in state.closed.items()],
        "sessions": [(key, each.agent_id) for key, each in state.sessions.items()],
        "answered": [(key, each.action_id) for key, each in state.answered.items()],
        "closures": [(key, each.resource) for key, each in state.closures.items()],
        "pauses": [(key, pause_key(each.scope, each.name)) for key, each in state.pauses.items()],
        "approvals": [(key, each.graph_id) for key, several in state.approvals.items() for each in several],
    }
    for kind, pairs in names.items():
        for key, own in pairs:
            if key != own:
                yield f"{kind} keep {own} under {key}"


def over_capacity(state: LedgerState, policy: SchedulePolicy) -> list[str]:
    """Return the limits of policy that the live leases exceed: only where the policy was tightened below them."""
    leases = state.leases.values()
    by_group, by_agent, by_resource = Counter[str](), Counter[str](), Counter[str]()
    for lease in leases:
        by_group[lease.graph_id] += lease.holding.slots
        by_agent[lease.agent_id] += 1
        by_resource.update(lease.holding.uses)
    limits = [("slots", sum(by_group.values()), policy.slots)]
    limits += [(f"group {name}", taken, quota_for(policy, name)) for name, taken in by_group.items()]
    limits += [(f"agent {name}", taken, slots_of_agent(policy, name)) for name, taken in by_agent.items()]
    known = policy.resources
    limits += [
        (f"resource {name}", taken, known[name].capacity) for name, taken in by_resource.items() if name in known
    ]
    return [f"{name}: {taken}/{limit}" for name, taken, limit in limits if limit is not None and taken > limit]
