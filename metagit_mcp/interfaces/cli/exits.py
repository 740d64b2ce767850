"""What a run ends with, as data: one exit code for each error code. It must not know how an error looks.

Scripts branch on these, so they are as stable as the error codes (interfaces.md §5).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from metagit_mcp.wire.responses import NextAnswer

FINE: Final = 0
UNEXPECTED: Final = 1
NOTHING_RUNNABLE: Final = 10
PERSON_NEEDED: Final = 11
INTERRUPTED: Final = 130

_INPUT, _NOT_FOUND, _REFUSED, _FILES = 2, 3, 4, 5
EXIT_CODES: Final[Mapping[str, int]] = {
    "INVALID_INPUT": _INPUT,
    "SCHEMA_VALIDATION_FAILED": _INPUT,
    "GRAPH_CYCLE": _INPUT,
    "UNKNOWN_DEPENDENCY": _INPUT,
    "WORKSPACE_NOT_FOUND": _NOT_FOUND,
    "GRAPH_NOT_FOUND": _NOT_FOUND,
    "NODE_NOT_FOUND": _NOT_FOUND,
    "NODE_AMBIGUOUS": _NOT_FOUND,
    "GRAPH_EXISTS": _REFUSED,
    "REVISION_CONFLICT": _REFUSED,
    "AUTH_FORBIDDEN": _REFUSED,
    "NODE_NOT_ELIGIBLE": _REFUSED,
    # Always the file: a value that a set may not have is INVALID_INPUT.
    "POLICY_INVALID": _FILES,
    "GRAPH_INVALID": _FILES,
    "STORE_UNAVAILABLE": _FILES,
    "STORE_CORRUPT": _FILES,
    "READ_ONLY": _FILES,
    "INTERNAL_ERROR": UNEXPECTED,
}

# Why a node is not offered, where time, another agent or work under way may end it without a person.
_ENDS_WITHOUT_A_PERSON: Final = frozenset(
    {"deferred", "observed", "capability_missing", "merge_pressure", "group_quota", "no_slot"}
)


def may_change_by_itself(answer: "NextAnswer") -> bool:
    """Say whether anything that holds a node back can end without a person."""
    return any(held.reason in _ENDS_WITHOUT_A_PERSON for held in answer.not_eligible)
