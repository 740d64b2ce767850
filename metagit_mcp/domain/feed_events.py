"""What happened to Groups that are fed by Events: lines of the ledger. Knows no rule; `feeding.py` does."""

from datetime import datetime
from typing import Annotated, Literal

from metagit_mcp.domain.feeds import CapacityStatus
from metagit_mcp.domain.group_facts import ByKind, GroupFact
from metagit_mcp.domain.value import value

DeclineReason = Literal["capacity", "deadline", "capability", "authorization", "dependency", "budget", "other"]


@value
class GroupEventsApplied:
    """Events of a Group were applied, up to `cursor`: each counts that concerns the queue, in the order of the log.

    `first` and `filtered` are what was declared of the log (work.md §6).
    """

    at: datetime
    group_id: str
    cursor: int
    facts: tuple[Annotated[GroupFact, ByKind], ...] = ()
    first: int = 1
    filtered: bool = False


@value
class OfferDeclined:
    """Admission refused an agent that wanted to accept an offer: the Group is told why."""

    at: datetime
    graph_id: str
    node_id: str
    agent_id: str
    reason: DeclineReason


@value
class EstimatePublished:
    """The Group is told when the work on a node will start and end (work.md §7)."""

    at: datetime
    graph_id: str
    node_id: str
    agent_id: str
    start_from: datetime
    start_to: datetime
    completion: datetime
    confidence_percent: int
    capacity_status: CapacityStatus


@value
class ProposalAnswered:
    """What carries Commands to the Group said of one: it is delivered and no Event will tell so, or it is refused."""

    at: datetime
    group_id: str
    action_id: str
    outcome: Literal["delivered", "refused"]
    reason: str = ""


FeedEvent = GroupEventsApplied | OfferDeclined | EstimatePublished | ProposalAnswered
