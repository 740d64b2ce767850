"""What a Group's own log says happened, as far as it concerns the queue: one shape per kind of Group Event.

Knows neither the JSON of the Events (wire/group_events.py) nor what follows from a fact (feeding.py). `sequence` is the
place in the Group's log, `at` the time that the log gives, `cause` the action id of the Command behind it.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Literal, get_args

from metagit_mcp.domain.feeds import Contract
from metagit_mcp.domain.value import value


@value
class WorkAuthorized:
    """A WorkItem came into being, with its contract; nobody is offered it yet."""

    sequence: int
    at: datetime
    node: Contract
    mission_id: str
    kind: Literal["authorized"] = "authorized"
    cause: str = ""


@value
class WorkOffered:
    """Some agents may accept the WorkItem until then; whoever owned it is fenced."""

    sequence: int
    at: datetime
    node_id: str
    candidates: tuple[str, ...]
    until: datetime
    kind: Literal["offered"] = "offered"
    cause: str = ""


@value
class OfferAccepted:
    """An agent owns the WorkItem until then, under a new Ownership Epoch."""

    sequence: int
    at: datetime
    node_id: str
    agent_id: str
    ownership_epoch: int
    until: datetime
    kind: Literal["accepted"] = "accepted"
    cause: str = ""


@value
class DependencyAdded:
    """The WorkItem waits for another one too."""

    sequence: int
    at: datetime
    node_id: str
    dependency_id: str
    kind: Literal["dependency"] = "dependency"
    cause: str = ""


@value
class WorkBegun:
    """The owner works on the WorkItem under an Execution Lease of the Group."""

    sequence: int
    at: datetime
    node_id: str
    lease_id: str
    agent_id: str
    session_epoch: int
    ownership_epoch: int
    until: datetime
    kind: Literal["begun"] = "begun"
    cause: str = ""


@value
class LeaseExtended:
    """The Execution Lease, and the ownership with it, lasts until then."""

    sequence: int
    at: datetime
    node_id: str
    lease_id: str
    until: datetime
    kind: Literal["extended"] = "extended"
    cause: str = ""


@value
class WorkSetAside:
    """The owner reached a checkpoint and paused: the WorkItem is back in its queue, owned until then."""

    sequence: int
    at: datetime
    node_id: str
    until: datetime
    note: str = ""
    kind: Literal["set_aside"] = "set_aside"
    cause: str = ""


@value
class WorkStuck:
    """The WorkItem is blocked. Without `until` nobody owns it any more: its child Mission failed."""

    sequence: int
    at: datetime
    node_id: str
    reason: str
    until: datetime | None = None
    kind: Literal["stuck"] = "stuck"
    cause: str = ""


@value
class WorkUnstuck:
    """What blocked the WorkItem is gone: its owner may go on, or (not `owned`) it is open and fenced."""

    sequence: int
    at: datetime
    node_id: str
    owned: bool
    kind: Literal["unstuck"] = "unstuck"
    cause: str = ""


@value
class ResultSubmitted:
    """The owner is done; the Coordinator judges the result."""

    sequence: int
    at: datetime
    node_id: str
    kind: Literal["submitted"] = "submitted"
    cause: str = ""


@value
class ResultVerified:
    """The Coordinator took the result, or that of the child Mission: whoever depends on it may go on."""

    sequence: int
    at: datetime
    node_id: str
    kind: Literal["verified"] = "verified"
    cause: str = ""


@value
class WorkLost:
    """The WorkItem failed; it may be offered again. `fenced`: its child Mission failed, and nobody owns it."""

    sequence: int
    at: datetime
    node_id: str
    reason: str
    fenced: bool = False
    kind: Literal["lost"] = "lost"
    cause: str = ""


@value
class WorkCalledOff:
    """The WorkItem is cancelled."""

    sequence: int
    at: datetime
    node_id: str
    reason: str = ""
    kind: Literal["called_off"] = "called_off"
    cause: str = ""


@value
class SessionReplaced:
    """A new Session of the owner revoked the Execution Lease: the WorkItem is back in its queue."""

    sequence: int
    at: datetime
    node_id: str
    session_epoch: int
    kind: Literal["session_replaced"] = "session_replaced"
    cause: str = ""


@value
class ExecutionApproved:
    """A person lets the WorkItem start, under this ownership and until then."""

    sequence: int
    at: datetime
    node_id: str
    ownership_epoch: int
    until: datetime
    by: str
    kind: Literal["approved"] = "approved"
    cause: str = ""


@value
class UsageRecorded:
    """What is left of the WorkItem's budget, by the names of `Usage`; a figure that is not there has no limit."""

    sequence: int
    at: datetime
    node_id: str
    left: Mapping[str, int]
    kind: Literal["usage"] = "usage"
    cause: str = ""


@value
class ChildMissionCreated:
    """A child Mission does the work: the WorkItem is blocked, and nobody owns it."""

    sequence: int
    at: datetime
    node_id: str
    mission_id: str
    kind: Literal["child"] = "child"
    cause: str = ""


@value
class MissionEnded:
    """The Mission was cancelled or terminated, and all its unfinished WorkItems with it."""

    sequence: int
    at: datetime
    mission_id: str
    outcome: Literal["cancelled", "terminated"]
    kind: Literal["mission_ended"] = "mission_ended"
    cause: str = ""


@value
class MembershipChanged:
    """An agent is a member of the Group, provisionally or for good, under this Membership Epoch; `ended`: no more."""

    sequence: int
    at: datetime
    agent_id: str
    status: str
    epoch: int = 0
    roles: tuple[str, ...] = ()
    kind: Literal["membership"] = "membership"
    cause: str = ""


@value
class CoordinatorAssigned:
    """Another agent coordinates the Mission now, under this epoch."""

    sequence: int
    at: datetime
    agent_id: str
    epoch: int
    kind: Literal["coordinator"] = "coordinator"
    cause: str = ""


@value
class GroupArchived:
    """The Group is over."""

    sequence: int
    at: datetime
    kind: Literal["archived"] = "archived"
    cause: str = ""


_Offers = WorkAuthorized | WorkOffered | OfferAccepted | DependencyAdded | ExecutionApproved
_Runs = WorkBegun | LeaseExtended | WorkSetAside | SessionReplaced | UsageRecorded
_Ends = WorkStuck | WorkUnstuck | ResultSubmitted | ResultVerified | WorkLost | WorkCalledOff | ChildMissionCreated
_OfTheGroup = MissionEnded | MembershipChanged | CoordinatorAssigned | GroupArchived
GroupFact = _Offers | _Runs | _Ends | _OfTheGroup
FACT_SHAPES = get_args(GroupFact)


class ByKind:
    """Has a fact read as the shape that its kind names: trying one after another takes six times as long."""

    @staticmethod
    def __get_pydantic_core_schema__(union: Any, handler: Any) -> dict[str, Any]:  # noqa: ANN401 - asked for by pydantic under this name
        """Return how to tell the shapes apart, in the words of pydantic."""
        choices = {_kind_of(shape): handler.generate_schema(shape) for shape in get_args(union)}
        return {"type": "tagged-union", "discriminator": "kind", "choices": choices}

    @staticmethod
    def __get_pydantic_json_schema__(schema: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - as above
        """Return what a schema says of it: any of the shapes, each with its own kind."""
        return handler({"type": "union", "choices": list(schema["choices"].values())})


def _kind_of(shape: Any) -> str:  # noqa: ANN401 - any of the shapes
    (kind,) = (each.default for each in fields(shape) if each.name == "kind")
    return str(kind)
