"""Stands between a workspace and its Groups: delivers their logs, and carries to them what agents did here.

Whether a Command is carried out is the authority's to say, by the guards of the state table; what it refuses is
answered as refused. It must not know what a delivery or a refusal leads to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.group_requests import DeliverRequest
from tests.groups import commands
from tests.groups.streams import CHOICES
from tests.scenarios.at_once import finished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from metagit_mcp.domain.feeds import Proposal
    from metagit_mcp.domain.state import LedgerState
    from tests.groups.authority import Authority, Item
    from tests.unit.application.desk import Desk

TOLD_ONLY = ("work.decline_offer", "schedule.estimate")


# --- the guards ------------------------------------------------------------------------------------------------------


def _against_acceptance(group: Authority, item: Item, asked: Proposal) -> str:
    if asked.ownership_epoch != item.epoch + 1:
        return f"the next Ownership Epoch is {item.epoch + 1}"
    return "" if (item, asked.agent_id) in CHOICES["accept"].targets(group) else "there is no offer to this agent"


def _against_owner(item: Item, asked: Proposal) -> str:
    owns = (item.owner, item.epoch) == (asked.agent_id, asked.ownership_epoch)
    return "" if owns else f"{item.owner} owns it under epoch {item.epoch}"


def _against_start(group: Authority, item: Item, asked: Proposal) -> str:
    may = item in CHOICES["start"].targets(group)
    return _against_owner(item, asked) or ("" if may else f"it is {item.state} and may not start")


def _against_end(group: Authority, item: Item, asked: Proposal) -> str:
    """What speaks against the end of a run; a lease is cited only by who knew it already."""
    cited = asked.payload.get("executionLeaseId")
    if item.lease is not None and cited not in {None, item.lease.lease_id}:
        return "another lease is cited"
    may = item in group.working()
    return _against_owner(item, asked) or ("" if may else f"it is {item.state}, without a live lease")


_ENDS: dict[str, Callable[[Authority, Item], None]] = {
    "work.checkpoint": commands.checkpoint,
    "work.block": commands.block,
    "work.submit": commands.submit,
    "work.fail": commands.lose,
}


def carry_out(group: Authority, asked: Proposal) -> str:
    """Carry a Command out if it is allowed now; return why it is not, or nothing."""
    item = group.items[asked.node_id]
    group.acts += 1
    if asked.command in TOLD_ONLY:
        return ""
    if asked.command == "work.accept_offer":
        against = _against_acceptance(group, item, asked)
        if not against:
            commands.accept(group, (item, asked.agent_id))
    elif asked.command == "work.start":
        against = _against_start(group, item, asked)
        if not against:
            commands.start(group, item)
    else:
        against = _against_end(group, item, asked)
        if not against:
            _ENDS[asked.command](group, item)
    return against


# --- the way between -------------------------------------------------------------------------------------------------


class Way:
    """The way between one workspace and one Group: any desk of the workspace will do."""

    def __init__(self, group: Authority) -> None:
        self.group = group
        # The places in the log that were delivered, and the Commands that were carried out, by their action ids.
        self.delivered: set[int] = set()
        self.carried: set[str] = set()

    @property
    def group_id(self) -> str:
        return self.group.group_id

    # --- the log ---

    def pending(self) -> list[int]:
        """The places in the log that were not delivered yet."""
        return [place for place in range(1, len(self.group.log) + 1) if place not in self.delivered]

    def deliver(self, desk: Desk, places: Iterable[int] | None = None) -> dict[str, int]:
        """Deliver the Events at these places, or else all that were not delivered."""
        asked = self.pending() if places is None else list(places)
        if not asked:
            return {}
        events = [self.group.log[place - 1] for place in asked]
        request = parse_request(DeliverRequest, {"group_id": self.group_id, "events": events})
        answer = finished(desk.application.groups.deliver(request))
        self.delivered.update(asked)
        return {"applied": answer.applied, "duplicates": answer.duplicates, "held": answer.held}

    # --- the outbox ---

    def outbox(self, desk: Desk) -> list[Proposal]:
        """What the Group is to be asked for, oldest first."""
        feed = state_of(desk).feeds.get(self.group_id)
        return [] if feed is None else [*feed.outbox.values()]

    def asked(self, desk: Desk) -> list[tuple[str, str, str]]:
        """The same in short, without estimates: Command, WorkItem and agent."""
        found = (each for each in self.outbox(desk) if each.command != "schedule.estimate")
        return [(each.command, each.node_id, each.agent_id) for each in found]

    def carry(self, desk: Desk, proposal: Proposal) -> str:
        """Carry one Command to the Group, which knows it again by its action id; return why it was refused."""
        if proposal.action_id not in {each.action_id for each in self.outbox(desk)}:
            # It was withdrawn with another one.
            return ""
        refused = "" if proposal.action_id in self.carried else carry_out(self.group, proposal)
        if refused:
            self.answer(desk, proposal, "refused", refused)
            return refused
        self.carried.add(proposal.action_id)
        if proposal.command in TOLD_ONLY:
            self.answer(desk, proposal, "delivered")
        return ""

    def answer(self, desk: Desk, proposal: Proposal, outcome: Any, reason: str = "") -> None:  # noqa: ANN401 - a literal
        """Say what became of a Command, if it still stands in the outbox."""
        if any(each.action_id == proposal.action_id for each in self.outbox(desk)):
            finished(desk.application.groups.answer(self.group_id, proposal.action_id, outcome, reason))

    def carry_all(self, desk: Desk) -> list[str]:
        """Carry all that stands in the outbox now, in order; return the Commands that were refused."""
        return [each.command for each in self.outbox(desk) if self.carry(desk, each)]

    def settle(self, desk: Desk) -> None:
        """Carry and deliver until there is nothing to carry and nothing to deliver."""
        for _ in range(20):
            self.carry_all(desk)
            self.deliver(desk)
            if not self.pending() and not self.outbox(desk):
                return
        raise AssertionError(self.outbox(desk))


def state_of(desk: Desk) -> LedgerState:
    """What the ledger says now."""
    finished(desk.application.current.image())
    return desk.application.current.state
