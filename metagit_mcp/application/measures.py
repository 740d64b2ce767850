"""Says how much there is of what in the workspace, for whoever watches a server. Knows no exporter."""

from dataclasses import fields
from typing import Final

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.schedule import Schedule
from metagit_mcp.application.turns.shared import Shared
from metagit_mcp.errors import MetagitError
from metagit_mcp.wire.measures import Standing
from metagit_mcp.wire.requests import StatusRequest

# Of the counts of the status, those that are no state of a node.
_APART: Final = frozenset({"graphs", "nodes"})


class Measures:
    """The use case of whoever watches a server."""

    def __init__(self, schedule: Schedule, shared: Shared, caller: Caller) -> None:
        """Keep the collaborators."""
        self._schedule, self._shared, self._caller = schedule, shared, caller

    async def standing(self) -> Standing | None:
        """Return how things stand, with the numbers of the status; None where the workspace cannot be read now.

        Raises:
            AuthForbidden: the caller's role may not look at the whole workspace.
        """
        self._caller.allow("look")
        try:
            status = await self._schedule.status(StatusRequest(recent=0))
        except MetagitError:
            return None
        counts = status.counts
        return Standing(
            nodes={each.name: getattr(counts, each.name) for each in fields(counts) if each.name not in _APART},
            ready=status.ready_count,
            runnable=status.runnable_count,
            groups=status.groups_total,
            needs_person=status.needs_person_total,
            leases=len(self._shared.ledger.state.leases),
            position=self._shared.ledger.mark.position,
        )
