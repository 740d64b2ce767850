"""Whatever a workspace is: the board shows each unfinished node once, in dispatch order, or with every reason why not.

The numbers are those of the status, and who looks changes nothing.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from metagit_mcp.application.board.board import board_answer
from metagit_mcp.application.board.reasons import Look
from metagit_mcp.application.standing import status_answer
from metagit_mcp.application.turns.shared import View
from metagit_mcp.domain.place import WorkspacePlace
from metagit_mcp.domain.tasks import FINISHED_STATUSES
from metagit_mcp.ports.workspace import WorkspaceImage
from metagit_mcp.scheduling.cycle import WorkspaceQueue, census, plan, reasons_against
from metagit_mcp.wire.board_answers import BoardAnswer, BoardViewer
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.requests import StatusRequest
from tests.properties.strategies import Workspace, askers, workspaces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metagit_mcp.scheduling.snapshot import Asker, Snapshot

Json = dict[str, Any]
EVERY = 100
PLACE = WorkspacePlace(path="/w", chosen_by="a test")
VIEWER = BoardViewer(may=())
# A deep search takes longer than any other test may.
pytestmark = pytest.mark.timeout(1_200)


def view_of(snapshot: Snapshot) -> View:
    image = WorkspaceImage(
        policy=snapshot.policy,
        policy_error=None,
        revision="r",
        graphs=snapshot.graphs,
        surroundings=snapshot.surroundings,
        approvals=snapshot.approvals,
        state_version="v",
        warnings=(),
    )
    queue = WorkspaceQueue(snapshot)
    return View(image=image, policy=snapshot.policy, queue=queue, now=snapshot.now, work=snapshot.work)


@st.composite
def looks(draw: st.DrawFn) -> Look:
    """One look at any workspace, at all of it or at one Group."""
    workspace: Workspace = draw(workspaces())
    asker: Asker = draw(askers(workspace.policy))
    alone = draw(st.none() | st.sampled_from(sorted(workspace.graphs))) if workspace.graphs else None
    return Look(view=view_of(workspace.snapshot()), asker=asker, alone=alone)


def board_of(look: Look, limit: int = EVERY) -> BoardAnswer:
    return board_answer(look, limit, (), PLACE, VIEWER)


def keys(cards: tuple[object, ...]) -> list[tuple[str, str]]:
    return [(card.graph_id, card.node_id) for card in cards]  # type: ignore[attr-defined]  # all cards have both


@given(looks())
def test_every_unfinished_node_is_in_exactly_one_list(look: Look) -> None:
    board = board_of(look)
    every = [
        (group.graph_id, node.node_id)
        for group in look.groups
        for node in group.rules.shape.by_id.values()
        if node.status not in FINISHED_STATUSES
    ]
    # A lease may be on a node that no file tells of any more: it runs all the same.
    told = {(group.graph_id, node_id) for group in look.groups for node_id in group.rules.shape.by_id}
    leased = {(lease.graph_id, lease.node_id) for lease in look.view.work.leases.values()}
    found = [*keys(board.running), *keys(board.queue), *keys(board.not_runnable)]
    assert {key for key in keys(board.running) if key not in told} <= leased
    assert sorted(key for key in found if key in told or key not in leased) == sorted(every)
    assert (len(board.running), len(board.queue), len(board.not_runnable)) == (
        board.totals.running,
        board.totals.queue,
        board.totals.not_runnable,
    )


@given(looks())
def test_the_queue_is_in_dispatch_order_and_the_rest_has_its_reasons(look: Look) -> None:
    board, queue = board_of(look), look.view.queue
    picks = plan(queue, look.asker, EVERY, look.alone).picks
    now = [card for card in board.queue if card.now]
    assert keys(tuple(now)) == [(pick.graph_id, pick.node.node_id) for pick in picks]
    assert [card.now for card in board.queue] == [True] * len(now) + [None] * (len(board.queue) - len(now))
    assert [card.place for card in board.queue] == list(range(1, len(board.queue) + 1))
    assert all(card.reasons for card in board.not_runnable)
    assert all(card.reasons for card in board.queue if not card.now)
    for card in board.not_runnable:
        node = queue.groups[card.graph_id].rules.shape.by_id[card.node_id]
        against = reasons_against(queue, look.asker, card.graph_id, node)
        assert {each.reason for each in card.reasons} == {each.kind for each in against}
    if len(board.queue) > len(now):
        event("nodes are in line that cannot start now")


@given(looks())
def test_the_numbers_are_those_of_the_status(look: Look) -> None:
    board = board_of(look)
    status = status_answer(look.view, look.asker, StatusRequest(graph_id=look.alone, recent=0), (), (), PLACE)
    for name in ("counts", "ready_count", "runnable_count", "not_eligible", "groups", "pauses", "merge_pressure"):
        assert getattr(board, name) == getattr(status, name), name
    assert keys(board.running) == keys(status.running)
    assert board.totals.needs_person == status.needs_person_total
    texts = sorted((card.text, card.graph_id or "", card.node_id or "") for card in board.needs_person)
    assert texts == sorted((each.reason, each.graph_id or "", each.node_id or "") for each in status.needs_person)
    assert board.slots.held == status.held


@given(looks(), st.integers(1, 3))
def test_what_is_shown_first_is_the_beginning_of_all_there_is(look: Look, limit: int) -> None:
    few, every = board_of(look, limit), board_of(look)
    assert few.totals == every.totals
    assert few.not_runnable == every.not_runnable[:limit]
    assert few.needs_person == every.needs_person[:limit]
    assert len(few.queue) == min(limit, every.totals.queue)


@given(looks())
def test_whoever_looks_changes_nothing(look: Look) -> None:
    queue, work = look.view.queue, deepcopy(look.view.work)
    before = census(queue, look.asker), plan(queue, look.asker, 2)
    board_of(look)
    assert look.view.work == work
    assert (census(queue, look.asker), plan(queue, look.asker, 2)) == before
    assert plan(WorkspaceQueue(queue.snapshot), look.asker, 2) == before[1]


# --- one Group alone --------------------------------------------------------------------------------------------------

# What others may be the cause of: the fact, and no more than policy says of it (ADR 0032).
SHARED = frozenset({"exclusive", "conflicts_with", "resource_busy", "never_fits", "agent_slots", "reserved", "no_slot"})


def beside_others(one: Workspace, own: str, others: Workspace) -> Workspace:
    """The same Group among the other Groups of another workspace, and what is done there."""

    def mixed(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: each for name, each in mine.items() if name == own}
        return {**kept, **{name: each for name, each in theirs.items() if name != own}}

    leases = {each.lease_id: each for each in one.work.leases.values() if each.graph_id == own}
    leases |= {each.lease_id: each for each in others.work.leases.values() if each.graph_id != own}
    work = replace(one.work, items=mixed(one.work.items, others.work.items), leases=leases)
    vouched = {key: each for key, each in one.vouched.items() if key[0] == own}
    return replace(one, graphs=mixed(one.graphs, others.graphs), work=work, vouched=vouched)


def as_told(look: Look) -> Json:
    """The board of one Group, without what others may be the cause of."""
    board = plain(board_of(look))
    waiting = sorted([*board["queue"], *board["not_runnable"]], key=lambda card: card["node_id"])
    lists = ("running", "paused_work", "budgets", "keys", "agents", "resources", "pauses", "merge_pressure", "warnings")
    return {
        **{name: board[name] for name in (*lists, "counts", "ready_count", "slots", "state_version")},
        "waiting": [(card["node_id"], _left(card["reasons"])) for card in waiting],
        "persons": [
            {**card, "act": {**card["act"], "leaves": _left(card["act"]["leaves"])}}
            for card in board["needs_person"]
            if card["reason"] not in SHARED
        ],
        "lost": [
            {name: each for name, each in card.items() if name not in {"may_start", "act"}} for card in board["lost"]
        ],
    }


def _left(reasons: list[Json]) -> list[Json]:
    return [each for each in reasons if each["reason"] not in SHARED]


@given(workspaces(), workspaces(), st.data())
def test_of_one_group_the_same_is_told_whatever_others_are_and_do(
    one: Workspace, others: Workspace, data: st.DataObject
) -> None:
    own = data.draw(st.sampled_from(sorted(one.graphs)))
    asker = data.draw(askers(one.policy))
    looks = [
        Look(view=view_of(each.snapshot()), asker=asker, alone=own)
        for each in (beside_others(one, own, one), beside_others(one, own, others))
    ]
    assert as_told(looks[0]) == as_told(looks[1])
