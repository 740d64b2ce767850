"""Every reason against work of a Group that is fed by Events: what its log says, and what agents did here."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.domain.fed_graph import graph_of
from metagit_mcp.domain.feeds import Contract, FedItem, Feed, Offer
from metagit_mcp.domain.limits import GatePolicy
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.scheduling.cycle import WorkspaceQueue, census
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import HOUR, NOW, against, approval_of, known, lease, names, snapshot_of

if TYPE_CHECKING:
    from metagit_mcp.domain.work import ExecutionLease, WorkItem, WorkState

G = "group:g"
W1, W2, W3 = (Asker(agent_id=name) for name in ("w1", "w2", "w3"))
SOON = timedelta(minutes=1)
OFFER = Offer(candidates=("w2", "w1"), until=NOW + HOUR)


def item(state: Any = "open", owner: str | None = None, **fed: Any) -> WorkItem:  # noqa: ANN401 - states and fields
    """A WorkItem with nobody here at it."""
    told = FedItem(mission_id="m", since=NOW, state=state, owner=owner, **fed)
    here: dict[str, WorkState] = {
        "verified": "completed",
        "failed": "parked",
        "blocked": "blocked",
        "cancelled": "cancelled",
    }
    return known("n", here.get(state, "open"), G, note=told.note, fed=told)


def queue(
    found: WorkItem,
    *,
    policy: SchedulePolicy | None = None,
    approved: bool = False,
    held: ExecutionLease | None = None,
    **contract: Any,  # noqa: ANN401 - any field of a contract
) -> WorkspaceQueue:
    """A queue over one Group with one WorkItem."""
    feed = Feed(group_id=G, nodes={"n": Contract(node_id="n", **contract)})
    loaded = graph_of(feed)
    assert loaded.graph is not None
    (node,) = loaded.graph.nodes
    work = LedgerState(items={G: {"n": found}}, leases={} if held is None else {held.lease_id: held}, feeds={G: feed})
    if approved:
        work = replace(work, approvals={G: (approval_of(node, G),)})
    return WorkspaceQueue(snapshot_of(loaded, policy=policy or SchedulePolicy(), work=work))


@pytest.mark.parametrize(
    ("found", "asker", "said"),
    [
        (item(), W1, ["not_offered"]),
        (item("offered", offer=OFFER), W1, []),
        (item("offered", offer=OFFER), W2, []),
        (item("offered", offer=OFFER), W3, ["not_offered(but to w1, w2)"]),
        (item("offered", offer=OFFER), Asker(), ["not_offered(but to w1, w2)"]),
        (item("offered", offer=replace(OFFER, until=NOW)), W1, ["not_offered(offer ended 2026-11-29T12:00:00Z)"]),
        (item("queued", "w1", until=NOW + SOON), W1, []),
        (item("queued", "w1"), W1, []),
        (item("queued", "w1", until=NOW + SOON), W2, ["owned(by w1)"]),
        (item("queued", "w1", until=NOW), W1, ["not_offered(ownership ended 2026-11-29T12:00:00Z)"]),
        (item("active", "w1", lease_until=NOW + HOUR), W1, ["leased(by w1, until 2026-11-29T13:00:00Z)"]),
        (item("active", "w1", lease_until=NOW - HOUR), W1, ["leased(by w1, until 2026-11-29T11:00:00Z)"]),
        (item("active", "w1"), W1, ["leased(by w1)"]),
        (item("blocked", "w1", note="a key"), W1, ["blocked"]),
        (item("submitted", "w1"), W1, ["awaiting_review(in its Group)"]),
        (item("verified", "w1"), W1, ["finished(completed)"]),
        (item("failed", "w1", note="no disk"), W1, ["blocked(failed)"]),
        (item("cancelled"), W1, ["finished(cancelled)"]),
        (item("offered", offer=OFFER, left={"tokens": 0}), W1, ["budget_exhausted"]),
        (item("offered", offer=OFFER, left={"tokens": 1}), W1, []),
    ],
)
def test_the_log_says_who_may_have_the_work(found: WorkItem, asker: Asker, said: list[str]) -> None:
    over = queue(found)
    assert against(over, "n", asker, G) == said
    assert names(over, asker) == ([] if said else ["n"])
    counted = census(over, asker)
    assert {kind: nodes for kind, nodes in counted.not_eligible.items() if nodes} == (
        {said[0].split("(")[0]: 1} if said else {}
    )


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("active", ["leased(by w1, until 2026-11-29T13:00:00Z)"]),
        ("submitted", ["awaiting_review(in its Group)"]),
        ("queued", ["owned(by w1)"]),
        ("parked", ["blocked(failed)"]),
    ],
)
def test_what_an_agent_did_here_counts_before_the_log_knows(state: Any, said: list[str]) -> None:  # noqa: ANN401 - a state
    held = lease("n", "w1", G) if state == "active" else None
    found = replace(
        item("offered", offer=OFFER), state=state, owner="w1", lease_id=None if held is None else held.lease_id
    )
    assert against(queue(found, held=held), "n", W2, G) == said


@pytest.mark.parametrize(
    ("approved_until", "said"),
    [(None, ["awaiting_approval(in its Group)"]), (NOW, ["awaiting_approval(in its Group)"]), (NOW + SOON, [])],
)
def test_the_group_approves_its_own_work(approved_until: Any, said: list[str]) -> None:  # noqa: ANN401 - an instant or None
    found = item("queued", "w1", until=NOW + HOUR, approved_until=approved_until)
    over = queue(found, approval="human_required")
    assert against(over, "n", W1, G) == said
    assert over.holds(G).for_person == ()


def test_a_gate_of_policy_counts_for_the_work_of_a_group_too() -> None:
    policy = SchedulePolicy(gates=GatePolicy(approval_required_for=("destructive",)))
    found = item("offered", offer=OFFER)
    shut = queue(found, policy=policy, risk="destructive")
    assert against(shut, "n", W1, G) == ["awaiting_approval"]
    assert [held.reason.text for held in shut.holds(G).for_person] == ["awaiting_approval"]
    assert against(queue(found, policy=policy, risk="destructive", approved=True), "n", W1, G) == []


@pytest.mark.parametrize("state", ["blocked", "failed", "submitted", "open"])
def test_what_the_coordinator_has_to_do_needs_no_person_here(state: Any) -> None:  # noqa: ANN401 - a state
    assert queue(item(state, note="a key")).holds(G).for_person == ()


@pytest.mark.parametrize(
    ("found", "after", "said"),
    [
        (item("offered", offer=OFFER), HOUR, ["not_offered(offer ended 2026-11-29T13:00:00Z)"]),
        (item("queued", "w1", until=NOW + SOON), SOON, ["not_offered(ownership ended 2026-11-29T12:01:00Z)"]),
        (
            item("queued", "w1", until=NOW + HOUR, approved_until=NOW + SOON),
            SOON,
            ["awaiting_approval(in its Group)"],
        ),
    ],
)
def test_time_alone_ends_an_offer_an_ownership_and_an_approval(
    found: WorkItem, after: timedelta, said: list[str]
) -> None:
    approval = "human_required" if found.fed is not None and found.fed.approved_until else "not_required"
    over = queue(found, approval=approval)
    assert names(over, W1) == ["n"]
    over.go_on(NOW + after - timedelta(microseconds=1))
    assert names(over, W1) == ["n"]
    over.go_on(NOW + after)
    assert (names(over, W1), against(over, "n", W1, G)) == ([], said)


def test_a_run_elsewhere_takes_no_slot_here() -> None:
    over = queue(item("active", "w1", lease_until=NOW + HOUR))
    assert (over.running_slots, over.groups[G].running, over.unsettled_in) == (0, (), set())


def test_a_queue_that_follows_an_offer_is_as_one_built_afresh() -> None:
    over = queue(item())
    assert (names(over, W1), over.capability_sets) == ([], ())
    items = over.snapshot.work.items[G]
    for found, sets, first in (
        (item("offered", offer=OFFER), (("agent:w1",), ("agent:w2",)), ["n"]),
        (item("offered", offer=replace(OFFER, candidates=("w2",))), (("agent:w2",),), []),
        (item("queued", "w1", until=NOW + HOUR), (), ["n"]),
        (item("cancelled"), (), []),
    ):
        items["n"] = found
        over.follow(over.snapshot.work, {(G, "n")})
        afresh = queue(found)
        assert (over.capability_sets, names(over, W1)) == (sets, first)
        assert (over.capability_sets, names(over, W1)) == (afresh.capability_sets, names(afresh, W1))
        assert over.groups[G].first_reasons == afresh.groups[G].first_reasons


def test_an_archived_group_gives_nothing() -> None:
    over = queue(item("offered", offer=OFFER))
    feed = replace(over.snapshot.work.feeds[G], archived=True, shape=1)
    over.refresh(replace(over.snapshot, graphs={G: graph_of(feed)}))
    assert against(over, "n", W1, G) == ["graph_inactive"]
