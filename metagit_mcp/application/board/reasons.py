"""Every reason against a node as the board shows it, and since when a node is as it is. Decides nothing."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from metagit_mcp.application.turns.shared import View
from metagit_mcp.domain.projection import row_instant
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.cycle import reasons_against
from metagit_mcp.scheduling.eligibility import Reason, waits_for_person, within_group
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.wire.board_cards import BoardReason

# Where time ends a reason, its detail is that instant or closes with it (eligibility.py, situation.py).
_TIMED: Final = frozenset({"not_ready", "deferred", "retry_at", "leased", "observed", "paused", "resource_closed"})
_ENDS_AT: Final = re.compile(r"(?:^|until )(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\Z")


@value
class Look:
    """One look at the board: the view, as whom it is looked at, and the one Group of which alone something is told."""

    view: View
    asker: Asker
    alone: str | None = None

    @property
    def graph_ids(self) -> list[str]:
        """The Groups that are shown, in order."""
        return sorted(self.view.queue.groups) if self.alone is None else [self.alone]

    @property
    def groups(self) -> list[GroupQueue]:
        """The same as queues."""
        return [self.view.queue.groups[name] for name in self.graph_ids]

    def against(self, graph_id: str, node: TaskNode) -> tuple[Reason, ...]:
        """Return every reason why the asker may not start the node now, as it may be told here."""
        return self.as_told(reasons_against(self.view.queue, self.asker, graph_id, node))

    def as_told(self, reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
        """Return reasons as they may be told here (ADR 0032)."""
        return reasons if self.alone is None else within_group(reasons)


def board_reasons(reasons: Iterable[Reason]) -> tuple[BoardReason, ...]:
    """Return reasons as the board shows them."""
    return tuple(
        BoardReason(
            reason=reason.kind,
            text=reason.text,
            note=reason.note or None,
            until=_ends_at(reason),
            person=waits_for_person(reason) or None,
        )
        for reason in reasons
    )


def _ends_at(reason: Reason) -> datetime | None:
    found = _ENDS_AT.search(reason.detail) if reason.kind in _TIMED else None
    return None if found is None else datetime.fromisoformat(found[1])


def since_of(group: GroupQueue, node: TaskNode) -> datetime | None:
    """Return when a node last changed, as the ledger knows it, else as its file says."""
    item = group.rules.items.get(node.node_id)
    return row_instant(node.updated_at) if item is None else item.changed_at
