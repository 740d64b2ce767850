"""What a run ends with, as data: one exit code for each error code. It must not know how an error looks.

Scripts branch on these, so they are as stable as the error codes (interfaces.md §5).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from metagit_mcp.wire.responses import NextAnswer
    from metagit_mcp.wire.status_answers import StatusAnswer

FINE: Final = 0
UNEXPECTED: Final = 1
NOTHING_RUNNABLE: Final = 10
PERSON_NEEDED: Final = 11
INTERRUPTED: Final = 130

_INPUT, _NOT_FOUND, _REFUSED, _FILES = 2, 3, 4, 5
# From doctor, as if each thing that it found had stopped a command.
FOUND_WRONG: Final = _FILES
EXIT_CODES: Final[Mapping[str, int]] = {
    "INVALID_INPUT": _INPUT,
    "SCHEMA_VALIDATION_FAILED": _INPUT,
    "GRAPH_CYCLE": _INPUT,
    "UNKNOWN_DEPENDENCY": _INPUT,
    "WORKSPACE_NOT_FOUND": _NOT_FOUND,
    "GRAPH_NOT_FOUND": _NOT_FOUND,
    "NODE_NOT_FOUND": _NOT_FOUND,
    "NODE_AMBIGUOUS": _NOT_FOUND,
    "GROUP_NOT_FOUND": _NOT_FOUND,
    "LEASE_NOT_FOUND": _NOT_FOUND,
    "TOKEN_NOT_FOUND": _NOT_FOUND,
    "GRAPH_EXISTS": _REFUSED,
    "REVISION_CONFLICT": _REFUSED,
    "AUTH_FORBIDDEN": _REFUSED,
    "AUTH_REQUIRED": _REFUSED,
    "NODE_NOT_ELIGIBLE": _REFUSED,
    "WORK_ALREADY_OWNED": _REFUSED,
    "WORK_LEASE_EXPIRED": _REFUSED,
    "WORK_STALE_OWNERSHIP": _REFUSED,
    "AUTH_STALE_SESSION": _REFUSED,
    "APPROVAL_REQUIRED": _REFUSED,
    "BUDGET_EXCEEDED": _REFUSED,
    "CAPACITY_EXCEEDED": _REFUSED,
    "INVALID_STATE_TRANSITION": _REFUSED,
    "ACTION_ID_COLLISION": _REFUSED,
    "EVENT_CONFLICT": _REFUSED,
    "BACKPRESSURE": _REFUSED,
    "CURSOR_TOO_OLD": _REFUSED,
    # Always the file: a value that a set may not have is INVALID_INPUT.
    "POLICY_INVALID": _FILES,
    "GRAPH_INVALID": _FILES,
    "HOST_FILE_INVALID": _FILES,
    "STORE_UNAVAILABLE": _FILES,
    "STORE_CORRUPT": _FILES,
    "STORE_TOO_NEW": _FILES,
    "READ_ONLY": _FILES,
    "INTERNAL_ERROR": UNEXPECTED,
}

# Why a node is not offered, where time, another agent or work under way ends it without a person.
_ENDS_WITHOUT_A_PERSON: Final = frozenset(
    {
        "deferred",
        "retry_at",
        "leased",
        "owned",
        "capability_missing",
        "exclusive",
        "conflicts_with",
        "resource_closed",
        "merge_pressure",
        "group_quota",
        "reserved",
        "no_slot",
    }
)


def may_change_by_itself(answer: "NextAnswer") -> bool:
    """Say whether anything that holds a node back ends without a person, whatever else is known."""
    return any(held.reason in _ENDS_WITHOUT_A_PERSON for held in answer.not_eligible)


def needs_person(answer: "NextAnswer", status: "StatusAnswer") -> bool:
    """Say whether only a person can end an idleness of which `may_change_by_itself` knows nothing.

    A pause ends by itself if it has an end, a run that another program began if its time is not over, and a resource
    is given back unless it is too small for the node. Whoever has work is not idle: who may hold no lease more has
    none, and may hold none at all.
    """
    nodes = {held.reason: held.nodes for held in answer.not_eligible}
    for kind in ("observed", "resource_busy"):
        listed = (each.nodes or 1 for each in status.needs_person if each.reason.startswith(kind))
        if nodes.get(kind, 0) > sum(listed):
            return False
    if nodes.get("agent_slots"):
        return True
    if nodes.get("paused"):
        return not any(each.until for each in status.pauses)
    return status.needs_person_total > 0
