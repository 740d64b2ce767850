"""A small Group authority: it knows which Commands are allowed now, carries them out and tells its log of each.

It must not know the oracle, nor import any part of the package. What it counts as `rows` are the rows of the state
table that it went through: the Command and the state it was given in, or a term that ran out without an Event.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol, TypeVar

from tests.groups.envelopes import Clock, Dialect, Form, Json, Told, enveloped, written

if TYPE_CHECKING:
    from collections.abc import Sequence

Of = TypeVar("Of")
UNFINISHED = ("open", "offered", "queued", "active", "blocked", "submitted")
FIRST = datetime(2026, 7, 15, 8, tzinfo=UTC)
HUMAN = {"id": "human://acme/owner", "type": "human"}
EXTENSION = "ext.missionweaveprotocol.core."


class Lots(Protocol):
    """Where every choice comes from."""

    def number(self, low: int, high: int) -> int:
        """Draw a whole number from `low` to `high`, both included; the simplest is `low`."""
        ...


def pick(lots: Lots, options: Sequence[Of]) -> Of:
    return options[lots.number(0, len(options) - 1)]


@dataclass
class Lease:
    """An Execution Lease that is projected on its item."""

    lease_id: str
    session: int
    since: datetime
    until: datetime
    renewals: int = 0


@dataclass
class Item:
    """A WorkItem as the authority keeps it."""

    work_id: str
    mission: str
    needs: list[str]
    gated: bool
    tokens: int | None
    calls: int | None
    state: str = "open"
    epoch: int = 0
    owner: str | None = None
    until: datetime | None = None
    lease: Lease | None = None
    candidates: list[str] = field(default_factory=list)
    offered_until: datetime = FIRST
    approvals: list[tuple[int, datetime]] = field(default_factory=list)
    child: str | None = None
    child_runs: bool = False
    left: Json | None = None
    revision: int = 1


@dataclass
class Seat:
    """A membership of a Group."""

    epoch: int
    status: str


class Authority:
    """One Group: its log, and what holds after each of its Events (`said`, by sequence)."""

    def __init__(self, lots: Lots, group_id: str = "group:cli") -> None:
        """Open the Group with its Missions and two to four members."""
        self.lots = lots
        self.group_id = group_id
        self.now = FIRST
        self.salt = lots.number(0, 2**32)
        self.forms: tuple[Form, ...] = pick(lots, (("wire",), ("internal",), ("wire", "internal")))
        self.clock: Clock = pick(lots, ("seconds", "microseconds", "offset"))
        self.dialects: tuple[Dialect, ...] = pick(lots, (("sdk",), ("schema",), ("sdk", "schema")))
        self.items: dict[str, Item] = {}
        self.seats: dict[str, Seat] = {}
        self.sessions: dict[str, int] = {}
        self.missions: dict[str, str] = {}
        self.ended: list[str] = []
        self.coordinator, self.coordinator_epoch = "agent://acme/coordinator", 1
        self.archived = False
        self.acts = 0
        self.made = 0
        self.log: list[Json] = []
        self.said: list[Json] = []
        self.rows: Counter[str] = Counter()

    # --- the log ---

    def tell(self, kind: str, payload: Json, actor: Json | None = None, work_id: str | None = None) -> str:
        """Write what just changed into the log; return the id of the Event."""
        talk = payload.get("workItem", {}).get("conversationId")
        told = Told(kind, payload, actor or self.coordinating(), f"poc:action:{self.acts:04}", work_id, talk)
        form = pick(self.lots, self.forms)
        event = enveloped(told, form, self.group_id, len(self.log) + 1, self.at(self.now), self.salt)
        self.log.append(event)
        self.said.append(self.state())
        return str(event.get("eventId", event.get("id")))

    def coordinating(self) -> Json:
        return {"id": self.coordinator, "type": "agent"}

    def at(self, moment: datetime) -> str:
        return written(moment, self.clock)

    def later(self, *seconds: int) -> datetime:
        return self.now + timedelta(seconds=pick(self.lots, seconds))

    def fresh(self, what: str) -> str:
        self.made += 1
        return f"{what}:{self.made:08x}-5060-4dd5-8adf-d21206fe71eb"

    def wait(self, seconds: int) -> None:
        """Let time pass; what runs out meanwhile leaves no Event."""
        before, self.now = self.now, self.now + timedelta(seconds=seconds)
        for item in self.items.values():
            if item.state == "offered" and before < item.offered_until <= self.now:
                self.rows["an offer runs out"] += 1
            if item.lease is not None and before < item.lease.until <= self.now:
                self.rows["a lease runs out"] += 1

    # --- what the guards ask ---

    def of_state(self, *states: str) -> list[Item]:
        """The items in these states whose Mission goes on."""
        return [item for item in self.items.values() if item.state in states and self.goes_on(item)]

    def goes_on(self, item: Item) -> bool:
        return self.missions[item.mission] == "active"

    def owned(self, item: Item) -> bool:
        return item.owner is not None and item.until is not None and item.until > self.now

    def working(self) -> list[Item]:
        """The active items whose owner may act on them."""
        return [
            item
            for item in self.of_state("active")
            if self.owned(item) and item.lease is not None and item.lease.until > self.now and self.present(item.owner)
        ]

    def present(self, agent_id: str | None) -> bool:
        return agent_id in self.seats and self.seats[agent_id].status != "ended"

    def reaches(self, start: str, goal: str) -> bool:
        return start == goal or any(self.reaches(need, goal) for need in self.items[start].needs)

    def approved_until(self, item: Item) -> datetime | None:
        if item.owner is None:
            return None
        return max((until for epoch, until in item.approvals if epoch == item.epoch), default=None)

    # --- what changes ---

    @staticmethod
    def fence(item: Item, state: str) -> None:
        """Nobody owns the item any more."""
        if item.owner is not None:
            item.epoch += 1
        item.owner = item.until = item.lease = None
        item.candidates, item.state = [], state

    @staticmethod
    def release(item: Item, state: str) -> None:
        """The owner keeps the item, not the lease."""
        item.lease, item.state = None, state

    # --- what is compared ---

    def state(self) -> Json:
        """What holds now, in the shape of the oracle."""
        return deepcopy(
            {
                "cursor": len(self.log),
                "items": {item.work_id: self.item_said(item) for item in self.items.values()},
                "members": {
                    name: {"epoch": seat.epoch, "status": seat.status, "roles": ["worker"]}
                    for name, seat in self.seats.items()
                },
                "ended": self.ended,
                "archived": self.archived,
            }
        )

    def item_said(self, item: Item) -> Json:
        lease = item.lease
        return {
            "mission": item.mission,
            "state": item.state,
            "epoch": item.epoch,
            "owner": item.owner,
            "until": item.until,
            "lease_id": lease and lease.lease_id,
            "lease_until": lease and lease.until,
            "session": lease and lease.session,
            "dependencies": sorted(item.needs),
            "offer": (sorted(item.candidates), item.offered_until) if item.state == "offered" else None,
            "approved_until": self.approved_until(item),
            "left": item.left,
        }
