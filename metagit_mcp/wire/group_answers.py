"""What is answered about Groups that are fed by Events; each answer but the list is about one Group alone.

Absent means none. Knows no use case.
"""

from datetime import datetime
from typing import Any

from metagit_mcp.domain.value import value


@value
class DeliverAnswer:
    """The answer to metagit_group_deliver: what became of the Events, and where the Group's Cursor stands."""

    cursor: int
    applied: int
    duplicates: int
    held: int
    warnings: tuple[str, ...]
    next_step: str


@value
class StateCount:
    """How many WorkItems of a Group are in a state."""

    state: str
    items: int


@value
class MissingEvents:
    """The Events that have to come before the held ones can happen: from one sequence to another, both included."""

    first: int
    last: int


@value
class FedGroup:
    """How a Group stands: what of its log was applied and what is held, its WorkItems here, its outbox.

    `filtered`: its log leaves Events out, so that none is missing.
    """

    group_id: str
    cursor: int
    first_sequence: int
    filtered: bool
    archived: bool
    held: int
    items_total: int
    items: tuple[StateCount, ...]
    outbox: int
    missing: MissingEvents | None = None


@value
class GroupsAnswer:
    """The answer to `group list`: every Group that is fed by Events."""

    groups: tuple[FedGroup, ...]
    warnings: tuple[str, ...]
    next_step: str


@value
class GroupAnswer:
    """The answer to `group show`, and metagit://groups/{group_id}."""

    group: FedGroup
    warnings: tuple[str, ...]
    next_step: str


@value
class ProposalRecord:
    """A Command that the Group is to be asked for; as long as it stands, not a byte of it changes.

    Under which revision it is to happen is not said: its epochs fence it (ADR 0030).
    """

    action_id: str
    command: str
    group_id: str
    work_item_id: str
    agent_id: str
    ownership_epoch: int
    session_epoch: int
    membership_epoch: int
    payload: dict[str, Any]
    at: datetime


@value
class OutboxAnswer:
    """The answer to `group outbox`, and metagit://groups/{group_id}/outbox: what to ask the Group for, oldest first."""

    group_id: str
    cursor: int
    proposals: tuple[ProposalRecord, ...]
    proposals_total: int
    warnings: tuple[str, ...]
    next_step: str


@value
class ProposalAnswer:
    """The answer to `group answer`: which proposals left the outbox."""

    group_id: str
    action_id: str
    outcome: str
    changed: bool
    withdrawn: tuple[str, ...]
    warnings: tuple[str, ...]
    next_step: str


@value
class GroupReplay:
    """Whether what the ledger's events lead to is what is live, for one Group; `differs_at` is the first place."""

    group_id: str
    cursor: int
    items: int
    same: bool
    differs_at: str | None = None


@value
class VerifyAnswer:
    """The answer to `group verify`: the ledger read anew, from its newest snapshot and from nothing.

    `same`: both lead to the live state, as far as was asked.
    """

    position: int
    snapshot_position: int
    same: bool
    groups: tuple[GroupReplay, ...]
    warnings: tuple[str, ...]
    next_step: str
    differs_at: str | None = None


@value
class SnapshotAnswer:
    """The answer to `group snapshot`: up to which position of the ledger the state is kept."""

    position: int
    bytes: int
    warnings: tuple[str, ...]
    next_step: str
