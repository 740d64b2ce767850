"""The nouns of a Group that is fed by Events: its feed, its members, what was proposed to it. Knows no rule.

The Group's own log is the authority (work.md §6). A `FedItem` is a WorkItem as that log says; the `WorkItem` that
carries it says what this workspace makes of it, with what agents did here and the log does not say yet.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Literal

from metagit_mcp.domain.tasks import Approval, Risk, Urgency
from metagit_mcp.domain.value import value

CapacityStatus = Literal["available", "queued", "constrained", "blocked"]
FedState = Literal["open", "offered", "queued", "active", "blocked", "submitted", "verified", "failed", "cancelled"]


@value
class Contract:
    """What a Coordinator asks of whoever does a WorkItem, in the words of a node (tasks.py).

    `node_id` is the WorkItem's id, which may hold signs that no node of a file may.
    """

    node_id: str
    title: str = ""
    depends_on: tuple[str, ...] = ()
    priority: int = 0
    requested_urgency: Urgency | None = None
    deadline: datetime | None = None
    estimated_runtime_seconds: int | None = None
    business_impact: str | None = None
    risk: Risk | None = None
    approval: Approval | None = None
    capabilities: tuple[str, ...] = ()
    budget: Mapping[str, int] | None = None
    acceptance: tuple[str, ...] = ()


@value
class Offer:
    """Who may accept a WorkItem, until when, and who of them turned it down here."""

    candidates: tuple[str, ...]
    until: datetime
    declined_by: tuple[str, ...] = ()


@value
class FedItem:
    """A WorkItem as its Group's log says. `until` ends the ownership, `lease_until` the Group's Execution Lease.

    `approved_until` is the end of a person's approval of the present ownership; `left` is what the log says is left of
    the budget. `since` is the time of the last change that the log told.
    """

    mission_id: str
    since: datetime
    state: FedState = "open"
    ownership_epoch: int = 0
    owner: str | None = None
    until: datetime | None = None
    lease_id: str | None = None
    lease_until: datetime | None = None
    session_epoch: int = 0
    offer: Offer | None = None
    approved_until: datetime | None = None
    left: Mapping[str, int] | None = None
    note: str = ""


@value
class Member:
    """An agent's membership of a Group, under its Membership Epoch."""

    epoch: int
    status: str
    roles: tuple[str, ...] = ()


ProposedCommand = Literal[
    "work.accept_offer",
    "work.decline_offer",
    "work.start",
    "work.checkpoint",
    "work.block",
    "work.submit",
    "work.fail",
    "schedule.estimate",
]


@value
class Proposal:
    """What an agent did here and the Group is to be asked for: a Command, under an action id that stays its own.

    `payload` are the fields of the Command besides its names and epochs, as JSON values.
    """

    action_id: str
    command: ProposedCommand
    at: datetime
    node_id: str
    agent_id: str
    ownership_epoch: int
    session_epoch: int
    membership_epoch: int
    payload: Mapping[str, str | int | tuple[str, ...]] = field(default_factory=dict)


@value
class Told:
    """What the Group was told last of the start and the end of work, and when that started, once it has."""

    at: datetime
    start_from: datetime
    start_to: datetime
    completion: datetime
    capacity_status: CapacityStatus
    started: datetime | None = None


@value
class Feed:
    """A Group as its log told so far. `cursor` is the highest sequence up to which all of it was applied.

    The log is visible from `first` on; where it is `filtered`, what is missing between two Events is not visible at
    all. `nodes` are the contracts, by WorkItem; `outbox` what was proposed and not answered, oldest first. `shape`
    grows whenever a node changes, and `ended` are the Missions that are over. `told` is what was told of work that goes
    on, and `came_true` and `failed_to` count what became of that. The dictionaries are changed by `feeding.py` and
    `outbox.py` alone.
    """

    group_id: str
    cursor: int = 0
    first: int = 1
    filtered: bool = False
    shape: int = 0
    archived: bool = False
    coordinator: str = ""
    coordinator_epoch: int = 0
    nodes: dict[str, Contract] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    ended: tuple[str, ...] = ()
    outbox: dict[str, Proposal] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)
    came_true: int = 0
    failed_to: int = 0
