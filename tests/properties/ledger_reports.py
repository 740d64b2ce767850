"""What work.md says of reports under a lease, as part of the oracle of the ledger machine.

It must not know the decider, the fold or an event, and shares no code with them.
"""

from datetime import timedelta
from typing import Any

from metagit_mcp.domain.commands import ReportWork
from tests.properties.ledger_model import ATTEMPTS, BLOCKED, BUDGET, FENCE, LEASE, START_BY, Lease, Model

ENDS = {"paused": "paused", "blocked": "blocked", "released": "released", "failed": "failed", "completed": "completed"}


def reported(model: Model, command: ReportWork, reviewed: str) -> str | None:
    """Let a report happen; return the code of its refusal, or None."""
    lease = model.leases.get(command.lease_id)
    agent = lease.agent if lease is not None else model.ended.get(command.lease_id, ("", ("", ""), None))[2]
    if agent is not None and command.agent_id not in {None, agent}:
        return "AUTH_FORBIDDEN"
    if lease is None:
        return _too_late(model, command)
    node, note = model.nodes[lease.key], command.note.strip()
    used = lease.used if command.usage is None else command.usage.tokens
    if used < lease.used:
        return "INVALID_INPUT"
    is_over = node.spent + used > BUDGET and command.state in {"running", "checkpointed"}
    if not is_over and _lacks(command, note, node.point == command.lease_id):
        return "INVALID_INPUT"
    lease.used = used
    if command.rate_limited is not None:
        model.closures[command.rate_limited.resource] = command.rate_limited.until
    if (
        command.checkpoint is not None
        or (note and command.state in {"checkpointed", "paused", "blocked"})
        or (note and is_over)
    ):
        node.point = command.lease_id
    model.happened()
    if is_over:
        _leave(model, command, lease, "paused")
        return "BUDGET_EXCEEDED"
    if command.state in {"running", "checkpointed"}:
        _extend(model, lease)
    else:
        _leave(model, command, lease, command.state if lease.key[0] != reviewed else _reviewed(command.state))
    return None


def _reviewed(state: str) -> str:
    return "submitted" if state == "completed" else state


def _lacks(command: ReportWork, note: str, has_point: bool) -> bool:  # noqa: FBT001 - a fact, not a switch
    if command.state == "failed":
        return not note and command.rate_limited is None
    if command.state == "blocked":
        return not note
    if command.state == "completed":
        # Work that is done was not turned away.
        return command.rate_limited is not None
    if command.state in {"checkpointed", "paused"}:
        has_any = bool(note) or command.checkpoint is not None
        return not has_any and not (command.state == "paused" and has_point)
    return False


def _too_late(model: Model, command: ReportWork) -> str:
    closure, key, _ = model.ended.get(command.lease_id, ("", ("", ""), ""))
    if not closure:
        return "LEASE_NOT_FOUND"
    node, said = model.nodes[key], (command.lease_id, command.state, command.note)
    if closure not in {"completed", "submitted"} and command.note and said not in node.evidence:
        node.evidence = [*node.evidence, said][-5:]
        model.happened()
    return FENCE.get(closure, "WORK_STALE_OWNERSHIP")


def _extend(model: Model, lease: Lease) -> None:
    end, now = lease.end, model.ends(LEASE)
    if (now.ticks > end.ticks) if end.boot == now.boot else (now.wall > end.wall):
        lease.end = now


def _leave(model: Model, command: ReportWork, lease: Lease, state: str) -> None:
    """End the lease, and put the node where its end leads."""
    key, node = lease.key, model.nodes[lease.key]
    model.end(command.lease_id, state)
    owner: dict[str, Any] = {"owner": node.owner, "session": node.session}
    if state == "paused":
        model.move(key, "queued", until=model.ends(START_BY), **owner)
    elif state == "blocked":
        model.move(key, "blocked", until=model.ends(BLOCKED), note=command.note, **owner)
    elif state in {"completed", "submitted"}:
        model.move(key, state, **owner)
    elif state == "released":
        model.tried(key, "released")
        model.move(key, "open")
    elif command.rate_limited is not None:
        model.move(key, "open", retry=command.rate_limited.until)
    else:
        model.tried(key, "failed")
        failures = node.failures + 1
        if failures >= ATTEMPTS:
            model.move(key, "parked", failures=failures, retry=None, note=command.note)
        else:
            wait = timedelta(seconds=60 * 2 ** (failures - 1))
            model.move(key, "open", failures=failures, retry=model.wall + wait)
