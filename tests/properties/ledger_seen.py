"""What the ledger and its model say of the same thing, in one form to be compared. It must not judge either."""

from typing import Any

from metagit_mcp.domain.state import LedgerState
from tests.properties.ledger_model import End, Key, Model


def of_end(end: Any) -> Any:  # noqa: ANN401 - an end of either side
    if end is None:
        return None
    return (end.wall, end.boot, end.ticks) if isinstance(end, End) else (end.at, end.boot_id, end.ticks_ms)


def of_lease(lease: Any) -> Any:  # noqa: ANN401 - a lease, as the model has it
    ids = (lease.agent_id, lease.key, lease.ownership_epoch, lease.session_epoch)
    return (*ids, of_end(lease.expiry), lease.usage.tokens)


def of_item(state: LedgerState, key: Key) -> Any:  # noqa: ANN401 - all that the model knows of a node
    item = state.item(key)
    if item is None:
        return None
    return {
        "state": item.state,
        "changed": item.changed_at,
        "epoch": item.ownership_epoch,
        "owner": item.owner,
        "session": item.owner_session,
        "lease": item.lease_id,
        "until": of_end(item.until),
        "note": item.note,
        "failures": item.failures,
        "retry": item.retry_at,
        "spent": item.spent.tokens,
        "point": None if item.checkpoint is None else item.checkpoint.lease_id,
        "attempts": [(each.agent_id, each.outcome) for each in item.attempts],
        "evidence": [(each.lease_id, each.state, each.note) for each in item.evidence],
    }


def of_node(model: Model, key: Key) -> Any:  # noqa: ANN401 - the same of the model
    node = model.nodes.get(key)
    return None if node is None else {**vars(node), "until": of_end(node.until)}
