"""What the decider answers: the events that happen, the lease they are about, and a refusal if there is one.

It also words the refusals that several commands share, each with the node's story. Decides nothing.
"""

from typing import Any, Final

from metagit_mcp.domain.events import Event
from metagit_mcp.domain.instant import instant_text
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.transitions import Trigger, may, triggers_from
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import WorkItem
from metagit_mcp.errors import (
    AuthStaleSession,
    InvalidStateTransition,
    LeaseNotFound,
    MetagitError,
    WorkLeaseExpired,
    WorkStaleOwnership,
)


@value
class Decided:
    """What a command leads to. The events happen even where it is refused: they are what the refusal rests on."""

    events: tuple[Event, ...] = ()
    lease_id: str | None = None
    refusal: MetagitError | None = None


def story(item: WorkItem | None) -> dict[str, Any]:
    """Return what happened to a node, as the details of a refusal: ids, numbers and times only."""
    if item is None:
        return {"state": "open"}
    told: dict[str, Any] = {
        "state": item.state,
        "since": instant_text(item.changed_at),
        "ownership_epoch": item.ownership_epoch,
    }
    if item.owner:
        told["owner"] = item.owner
    if item.failures:
        told["failures"] = item.failures
    if item.attempts:
        told["attempts"] = [f"{each.outcome} {instant_text(each.at)} {each.agent_id}" for each in item.attempts]
    return told


def refuse_trigger(item: WorkItem | None, graph_id: str, node_id: str, trigger: Trigger) -> None:
    """Refuse what the table of transitions does not know.

    Raises:
        InvalidStateTransition: with the state, the trigger, the triggers there are, and the node's story.
    """
    state = "open" if item is None else item.state
    if item is not None and item.fed is not None and _is_of_its_group(item, trigger):
        raise InvalidStateTransition(
            f"Node {node_id} is work of Group {graph_id}, whose Coordinator decides on this.",
            hint="What it decides comes with the Group's log; metagit-mcp group show tells how far that was taken in.",
            graph_id=graph_id,
            node_id=node_id,
            trigger=trigger,
            **story(item),
        )
    if not may(state, trigger):
        allowed = triggers_from(state)
        raise InvalidStateTransition(
            f"Node {node_id} is {state}: there is no {trigger}.",
            hint=_WAY_ON.get(state, "metagit_schedule_status with node_id says what it waits for.").format(node_id),
            graph_id=graph_id,
            node_id=node_id,
            trigger=trigger,
            allowed=list(allowed),
            **story(item),
        )


def _is_of_its_group(item: WorkItem, trigger: Trigger) -> bool:
    """Say whether that is decided in the log of the Group; to take work from its owner here is not."""
    return trigger in _OF_ITS_GROUP or (trigger == "revoke" and item.state == "blocked" and item.owner is None)


_OF_ITS_GROUP: Final = frozenset({"accept_result", "reject_result", "retry"})
# What a person or an agent can do about work in a state; the rest happens by itself.
_WAY_ON: Final = {
    "open": "metagit_schedule_next with claim=true gives work to do.",
    "queued": "Its owner starts it; a person takes it back: metagit-mcp work release {} --force.",
    "active": "Its holder reports under the lease; a person takes it back: metagit-mcp work release {} --force.",
    "blocked": "When what blocks it is gone: metagit-mcp task update {} --status ready.",
    "submitted": "A person judges the result: metagit-mcp work review {0} --accept, or --reject with a note.",
    "parked": "A person lets it be tried again: metagit-mcp work retry {}.",
}


def no_such_lease(state: LedgerState, lease_id: str) -> MetagitError:
    """Return why a lease id names no live lease: it ended, and how, or there never was one."""
    closed = state.closed.get(lease_id)
    if closed is None:
        return LeaseNotFound(
            f"There is no lease {lease_id}.",
            hint="Claim the node first: metagit_schedule_next with claim=true, or metagit_work_start.",
            lease_id=lease_id,
        )
    facts: dict[str, Any] = {
        "lease_id": lease_id,
        "graph_id": closed.graph_id,
        "node_id": closed.node_id,
        "closure": closed.closure,
        "closed_at": instant_text(closed.closed_at),
        **story(state.item((closed.graph_id, closed.node_id))),
    }
    ask = "Ask for work again: metagit_schedule_next with claim=true."
    if closed.closure == "expired":
        return WorkLeaseExpired(f"Lease {lease_id} ran out at {facts['closed_at']}.", hint=ask, **facts)
    if closed.closure == "session":
        hint = "This session is over: a newer one of the same agent has the work. Stop working on it."
        return AuthStaleSession(f"A new session ended lease {lease_id}.", hint=hint, **facts)
    return WorkStaleOwnership(f"Lease {lease_id} ended ({closed.closure}) at {facts['closed_at']}.", hint=ask, **facts)
