"""Every deliberate error of the project, one hierarchy; it knows nothing of files, JSON or protocols.

The class docstring is the default message. `code` is stable (SemVer) and documented in
`docs/reference/errors.md`; `retryable` says whether the same call may succeed later unchanged.
"""

from typing import ClassVar


class MetagitError(Exception):
    """Something went wrong that the caller can understand."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str = "", *, hint: str = "", **details: object) -> None:
        """Keep what happened, what to do next and the facts behind it.

        Args:
            message: one sentence; empty means the class docstring.
            hint: what is valid and what to do next; empty when nothing useful can be said.
            details: JSON-ready facts (ids, numbers, field names), never file content.
        """
        self.message = message or str(self.__doc__)
        self.hint = hint
        self.details = details
        super().__init__(self.message)

    def as_record(self) -> dict[str, object]:
        """Return the error as the JSON object that every interface shows, however much there was to name."""
        return {
            "code": self.code,
            "message": _cut(self.message, _LONGEST_SENTENCE),
            "hint": _cut(self.hint, _LONGEST_SENTENCE),
            "details": {name: _bounded(each) for name, each in self.details.items()},
            "retryable": self.retryable,
        }


# What a host takes as an answer is some tens of thousands of bytes (interfaces.md §3).
_LONGEST_SENTENCE = 2_000
_LONGEST_FACT = 300
_MOST_FACTS = 50


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _bounded(fact: object) -> object:
    if isinstance(fact, list | tuple):
        return [_cut(each, _LONGEST_FACT) if isinstance(each, str) else each for each in fact[:_MOST_FACTS]]
    return _cut(fact, _LONGEST_SENTENCE) if isinstance(fact, str) else fact


class InvalidInput(MetagitError):
    """An argument is missing, unknown or out of range."""

    code = "INVALID_INPUT"


class WorkspaceNotFound(MetagitError):
    """No metagit workspace was found."""

    code = "WORKSPACE_NOT_FOUND"


class GraphNotFound(MetagitError):
    """No task graph has this id."""

    code = "GRAPH_NOT_FOUND"


class GraphExists(MetagitError):
    """A task graph with this id exists already."""

    code = "GRAPH_EXISTS"


class GraphInvalid(MetagitError):
    """The task graph file cannot be used as it stands."""

    code = "GRAPH_INVALID"


class GraphCycle(MetagitError):
    """The dependencies form a cycle."""

    code = "GRAPH_CYCLE"


class UnknownDependency(MetagitError):
    """A node depends on a node that its graph does not have."""

    code = "UNKNOWN_DEPENDENCY"


class NodeNotFound(MetagitError):
    """No node has this id."""

    code = "NODE_NOT_FOUND"


class NodeAmbiguous(MetagitError):
    """More than one graph has a node with this id."""

    code = "NODE_AMBIGUOUS"


class GroupNotFound(MetagitError):
    """No Group that is fed by Events has this id."""

    code = "GROUP_NOT_FOUND"


class NodeNotEligible(MetagitError):
    """The node may not be started now."""

    code = "NODE_NOT_ELIGIBLE"


class PolicyInvalid(MetagitError):
    """The schedule policy cannot be used as it stands."""

    code = "POLICY_INVALID"


class RevisionConflict(MetagitError):
    """The thing changed since it was read."""

    code = "REVISION_CONFLICT"


class AuthForbidden(MetagitError):
    """The caller may not do this."""

    code = "AUTH_FORBIDDEN"


class AuthRequired(MetagitError):
    """The server does not know this token, or it ended."""

    code = "AUTH_REQUIRED"


class TokenNotFound(MetagitError):
    """No token has this id."""

    code = "TOKEN_NOT_FOUND"


class SchemaMismatch(MetagitError):
    """Something does not fit its schema."""

    code = "SCHEMA_VALIDATION_FAILED"


class StoreUnavailable(MetagitError):
    """The workspace files cannot be read or written at the moment."""

    code = "STORE_UNAVAILABLE"
    retryable = True


class StoreCorrupt(MetagitError):
    """A file that the scheduler keeps for itself is damaged."""

    code = "STORE_CORRUPT"


class StoreTooNew(MetagitError):
    """A file that the scheduler keeps for itself was written by a newer version."""

    code = "STORE_TOO_NEW"


class LeaseNotFound(MetagitError):
    """No lease has this id."""

    code = "LEASE_NOT_FOUND"


class WorkAlreadyOwned(MetagitError):
    """Another agent owns this work."""

    code = "WORK_ALREADY_OWNED"


class WorkLeaseExpired(MetagitError):
    """The lease ran out; the work may be with somebody else."""

    code = "WORK_LEASE_EXPIRED"


class WorkStaleOwnership(MetagitError):
    """The lease ended; the work is no longer its holder's."""

    code = "WORK_STALE_OWNERSHIP"


class AuthStaleSession(MetagitError):
    """A newer session of the same agent has taken over."""

    code = "AUTH_STALE_SESSION"


class ApprovalRequired(MetagitError):
    """A person must approve this first."""

    code = "APPROVAL_REQUIRED"


class BudgetExceeded(MetagitError):
    """The budget of this work is used up."""

    code = "BUDGET_EXCEEDED"


class InvalidStateTransition(MetagitError):
    """The work is in a state in which this cannot happen."""

    code = "INVALID_STATE_TRANSITION"


class ActionIdCollision(MetagitError):
    """This action id was used for another command."""

    code = "ACTION_ID_COLLISION"


class CapacityExceeded(MetagitError):
    """The agent has no room for more work."""

    code = "CAPACITY_EXCEEDED"


class EventConflict(MetagitError):
    """The Events do not fit what the Group's log said before."""

    code = "EVENT_CONFLICT"


class Backpressure(MetagitError):
    """The inbox of the Group holds as many Events beyond a gap as it may."""

    code = "BACKPRESSURE"


class CursorTooOld(MetagitError):
    """The Group's log no longer goes back to what was applied last."""

    code = "CURSOR_TOO_OLD"


class HostFileInvalid(MetagitError):
    """A file of an agent host cannot be used as it stands."""

    code = "HOST_FILE_INVALID"


class ReadOnlyWorkspace(MetagitError):
    """The workspace cannot be written to."""

    code = "READ_ONLY"


class InternalError(MetagitError):
    """The program met a state that it does not expect; please report it."""

    code = "INTERNAL_ERROR"
