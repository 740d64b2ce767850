"""The board: all that one look at the page needs, of one moment, and when it is worth another look.

It is read-only by construction: it has no way to command the ledger, and writes no log.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from metagit_mcp.application.asking import asker_of
from metagit_mcp.application.board.changes import Reader, Sight, Sights, sight_of, version_told
from metagit_mcp.application.board.decisions import decision_cards
from metagit_mcp.application.board.means import (
    agent_cards,
    budget_cards,
    key_cards,
    resource_cards,
    share_history,
    slots_card,
)
from metagit_mcp.application.board.people import person_cards
from metagit_mcp.application.board.pictures import graph_picture
from metagit_mcp.application.board.queue import queued
from metagit_mcp.application.board.reasons import Look
from metagit_mcp.application.board.work import ended_leases, lost_cards, paused_cards, running_cards
from metagit_mcp.application.caller import Caller, looking
from metagit_mcp.application.finding import about_group, known_graph, usable_graph
from metagit_mcp.application.groups.standing import group_statuses
from metagit_mcp.application.needs_person import pauses_about
from metagit_mcp.application.records import pause_records
from metagit_mcp.application.standing import merge_pressures, node_counts, reason_counts
from metagit_mcp.application.turns.current import Current
from metagit_mcp.domain.decision import LoggedDecision
from metagit_mcp.domain.place import WorkspacePlace
from metagit_mcp.ports.machine import Waits
from metagit_mcp.ports.workspace import DecisionLog
from metagit_mcp.scheduling.cycle import census
from metagit_mcp.wire.board_answers import (
    BoardAnswer,
    BoardRequest,
    BoardTotals,
    BoardViewer,
    GraphPicture,
    PictureRequest,
)

_RUNNING_SHOWN: Final = 200
_LOST_SHOWN: Final = 50
_AGENTS_SHOWN: Final = 200
_BUDGETS_SHOWN: Final = 20
_GROUPS_SHOWN: Final = 1_000
# Whoever looks on learns of a change within a second, and of mere signs of life no more often than this.
_LOOK_EVERY_S: Final = 0.5
_SIGNS_EVERY: Final = 10
# The acts that the board offers, of those that a role may do.
_OFFERED: Final = ("judge", "pause")

# Told of the version of what the board shows; False: nobody looks on.
Tell = Callable[[str], bool | Awaitable[bool]]


class Board:
    """The use cases of the board."""

    def __init__(
        self,
        place: WorkspacePlace,
        current: Current,
        log: DecisionLog,
        sights: Sights,
        waits: Waits,
        caller: Caller,
    ) -> None:
        """Keep the collaborators; `sights` are those of all who look on in this process."""
        self._place = place
        self._current = current
        self._log = log
        self._sights = sights
        self._offload, self._sleep = waits.offload, waits.sleep
        self._caller = caller

    async def board(self, request: BoardRequest) -> BoardAnswer:
        """Return all that the board shows; with a Group nothing of another one.

        Raises:
            AuthForbidden: the caller's role may not look.
            PolicyInvalid, GraphNotFound: there is nothing to show.
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read.
        """
        with looking(self._caller, request.graph_id) as graph_id, about_group(graph_id):
            # The log first: a view is used before anything else is waited for.
            recent, warnings = await self._offload(lambda: self._log.recent(request.recent, graph_id))
            look = await self._look(graph_id)
        sight, question = sight_of(look, recent[:1]), (self._reader(graph_id), request.limit, request.recent)
        answer = self._sights.answer(question, sight)
        if answer is None:
            # With a thousand Groups that takes a while, in which nobody else is answered.
            answer = board_answer(look, request.limit, recent, self._place, self._viewer())
            self._sights.keep_answer(question, sight, answer)
        return replace(
            answer,
            viewer=self._viewer(),
            state_version=version_told(self._caller, sight),
            warnings=tuple(sorted({*answer.warnings, *warnings})),
        )

    def _reader(self, graph_id: str | None) -> Reader:
        return self._caller.agent_id, self._caller.capabilities, graph_id

    async def _look(self, graph_id: str | None) -> Look:
        view = await self._current.view()
        if graph_id is not None:
            known_graph(view.image.graphs, graph_id)
        return Look(view=view, asker=asker_of(self._caller, view), alone=graph_id)

    def _viewer(self) -> BoardViewer:
        caller = self._caller
        return BoardViewer(
            may=tuple(act for act in _OFFERED if caller.may(act)),
            name=caller.operator or caller.agent_id or None,
            role=caller.role,
            graph_id=caller.group_id or None,
        )

    async def picture(self, request: PictureRequest) -> GraphPicture:
        """Return one task graph in waves, with its critical chain.

        Raises:
            AuthForbidden: the caller's role may not look.
            PolicyInvalid, GraphNotFound, GraphInvalid: there is nothing to draw.
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read.
        """
        with looking(self._caller, request.graph_id) as graph_id, about_group(graph_id):
            look = await self._look(graph_id)
            loaded = usable_graph(look.view.image.graphs, request.graph_id)
        return replace(graph_picture(look, loaded), state_version=version_told(self._caller, sight_of(look, ())))

    async def changes(self, graph_id: str | None = None) -> AsyncIterator[str]:
        """Yield the state version at once, and again whenever what the board shows is other than before.

        Raises:
            AuthForbidden: the caller's role may not look.
            AuthRequired: its token ended meanwhile.
            PolicyInvalid, GraphNotFound, StoreCorrupt, StoreTooNew, StoreUnavailable: there is nothing to show.
        """
        before, quiet = Sight(), 0
        while True:
            now = await self._sight(graph_id)
            has_signs = now.signs != before.signs and quiet >= _SIGNS_EVERY
            if now.shown != before.shown or has_signs:
                before, quiet = now, 0
                yield version_told(self._caller, now)
            quiet += 1
            await self._sleep(_LOOK_EVERY_S)

    async def follow(self, tell: Tell, graph_id: str | None = None) -> None:
        """Tell what `changes` yields, until `tell` says that nobody looks on.

        Raises:
            AuthForbidden: the caller's role may not look.
            PolicyInvalid, GraphNotFound, StoreCorrupt, StoreTooNew, StoreUnavailable: there is nothing to show.
        """
        async for version in self.changes(graph_id):
            told = tell(version)
            if not (await told if inspect.isawaitable(told) else told):
                return

    async def _sight(self, graph_id: str | None) -> Sight:
        with looking(self._caller, graph_id) as own_id, about_group(own_id):
            reader = self._reader(own_id)
            sight = self._sights.fresh(reader)
            if sight is None:
                recent, _ = await self._offload(lambda: self._log.recent(1, own_id))
                sight = sight_of(await self._look(own_id), recent)
                self._sights.keep(reader, sight)
            else:
                # A command that failed meanwhile threw away what was known, and with it every token.
                await self._current.image()
        self._caller.refuse_ended(self._current.state.tokens, sight.at)
        return sight


# Each list with how much there is of it in all.
_Lists = dict[str, tuple[tuple[Any, ...], int]]


def _lists(look: Look, limit: int) -> _Lists:
    """Return the lists of which only the first are shown, by the name of their field."""
    ended = ended_leases(look)
    lost, lost_total = lost_cards(look, ended, _LOST_SHOWN)
    lines = queued(look, frozenset((card.graph_id, card.node_id) for card in lost), limit)
    groups = group_statuses(
        look.view, look.asker, look.graph_ids, None, alone=look.alone is not None, limit=_GROUPS_SHOWN
    )
    return {
        "needs_person": person_cards(look, limit),
        "running": running_cards(look, _RUNNING_SHOWN),
        "lost": (lost, lost_total),
        "paused_work": paused_cards(look, ended, _LOST_SHOWN),
        "queue": (lines.queue, lines.queue_total),
        "not_runnable": (lines.not_runnable, lines.not_runnable_total),
        "groups": (groups, len(look.graph_ids)),
        "agents": agent_cards(look, _AGENTS_SHOWN),
        "budgets": budget_cards(look, _BUDGETS_SHOWN),
    }


def board_answer(
    look: Look, limit: int, recent: Sequence[LoggedDecision], place: WorkspacePlace, viewer: BoardViewer
) -> BoardAnswer:
    """Return all that the view tells."""
    view, alone, lists = look.view, look.alone, _lists(look, limit)
    counted = census(view.queue, look.asker, alone)
    shown: dict[str, Any] = {name: cards for name, (cards, _) in lists.items()}
    return BoardAnswer(
        **shown,
        at=view.now,
        state_version=view.state_version,
        workspace=place,
        viewer=viewer,
        totals=BoardTotals(**{name: total for name, (_, total) in lists.items()}),
        truncated=any(len(cards) < total for cards, total in lists.values()),
        counts=node_counts(look.groups),
        ready_count=counted.ready,
        runnable_count=counted.runnable,
        not_eligible=tuple(reason_counts(counted)),
        slots=slots_card(look),
        resources=resource_cards(look),
        keys=key_cards(look),
        pauses=pause_records(pauses_about(view, look.asker, alone)),
        decisions=decision_cards(look, ended_leases(look), recent),
        merge_pressure=tuple(merge_pressures(view, alone)),
        warnings=tuple(sorted(view.warnings_about(alone))),
        ordering=view.policy.ordering,
        graph_id=alone,
        shares=share_history(look, shown["groups"]),
    )
