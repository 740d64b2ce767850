"""What preemption and holds do to a node, to its lease and to what ends by itself; a state branches with its shares."""

from dataclasses import fields, replace
from datetime import timedelta

import pytest

from metagit_mcp.domain.events import EvidenceKept, SeenFinished
from metagit_mcp.domain.instant import expiry_after
from metagit_mcp.domain.lapses import lapses
from metagit_mcp.domain.share_events import HoldEnded, HoldFilled, PreemptionRequested, RunSeen, SlotsHeld
from metagit_mcp.domain.shares import Dispatch, FlowTag, LevelChange, PoolChange, Run, Shares, pool_name
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import Share
from tests.unit.domain.played import NOON, Played, kinds, row

SHARE = Share(priority_class="low", class_weight=1, group_weight=1)
DISPATCH = Dispatch(share=SHARE, class_window=0, group_window=8, arrived=("m",))
HELD = SlotsHeld(at=NOON, graph_id="h", node_id="u", slots=2)


def asked(played: Played, node_id: str = "u") -> PreemptionRequested:
    return PreemptionRequested(
        at=played.now.wall, lease_id=played.lease().lease_id, graph_id="h", node_id=node_id, slots=1
    )


def held(played: Played, seconds: int = 60) -> HoldFilled:
    return HoldFilled(at=played.now.wall, until=expiry_after(played.now, seconds))


def test_a_pause_that_was_asked_for_counts_and_another_does_not() -> None:
    played = Played()
    played.report(played.start(), "paused", "of my own accord")
    assert played.item().preemptions == 0
    for count in (1, 2):
        lease_id = played.start()
        played.happen(asked(played))
        played.report(lease_id, "paused", "as asked")
        assert (played.item().preemptions, played.item().state, played.item().owner) == (count, "queued", "ada")
        assert played.state.shares.preemptions == {}
        played.happen(HoldEnded(at=NOON, graph_id="h", node_id="u"))


@pytest.mark.parametrize("state", ["completed", "failed", "released", "blocked"])
def test_work_that_ends_otherwise_was_not_preempted(state: str) -> None:
    played = Played()
    lease_id = played.start()
    played.happen(asked(played))
    played.report(lease_id, state, "why")
    assert (played.item().preemptions, played.state.shares.preemptions) == (0, {})
    assert played.state.shares.hold is not None


def test_a_new_incarnation_was_never_preempted() -> None:
    played = Played()
    lease_id = played.start()
    played.happen(asked(played))
    played.report(lease_id, "paused", "as asked")
    played.report(played.start(), "completed")
    assert played.item().preemptions == 1
    played.wait(5)
    played.lapse(row("ready", after=3600))
    assert (played.item().state, played.item().preemptions) == ("open", 0)


def test_work_that_is_finished_elsewhere_asks_nobody() -> None:
    played = Played()
    played.start()
    played.happen(asked(played))
    done = SeenFinished(at=NOON, graph_id="h", node_id="u", status="completed", seen_at=NOON + timedelta(seconds=1))
    played.happen(done, HoldEnded(at=NOON, graph_id="h", node_id="u", lapsed=True))
    assert played.state.shares.asked == {}


def test_a_hold_ends_at_its_deadline_once_its_slots_are_free() -> None:
    played = Played()
    played.happen(HELD)
    played.wait(99_999)
    assert lapses(played.state, played.now) == []
    played.happen(held(played))
    played.wait(59)
    assert lapses(played.state, played.now) == []
    played.wait(1)
    assert played.lapse() == [HoldEnded(at=played.now.wall, graph_id="h", node_id="u", lapsed=True)]
    assert (played.lapse(), played.state.shares) == ([], Shares())


def test_a_hold_ends_after_the_terms_whatever_another_program_wrote_of_its_node() -> None:
    played = Played()
    played.start(lease_seconds=60)
    played.accept("u", graph_id="h")
    played.happen(HELD, held(played))
    played.wait(60)
    ended = played.lapse(row("blocked", after=9, node_id="u"), graph_id="h")
    assert kinds(ended) == ["SeenBlocked", "LeaseExpired", "HoldEnded"]


def test_what_was_said_too_late_changes_no_share() -> None:
    played = Played()
    lease_id = played.start(dispatch=DISPATCH)
    played.report(lease_id, "released")
    before = played.state.shares.branch()
    played.happen(EvidenceKept(at=NOON, lease_id=lease_id, state="completed", note="late"))
    assert played.state.shares == before


def test_a_branch_has_shares_of_its_own() -> None:
    played = Played()
    change = LevelChange(level="", virtual=0, flows={"low": FlowTag(tag=1, weight=1, eligible=True)})
    played.start(dispatch=replace(DISPATCH, pick=PoolChange(levels=(change,))))
    run = Run(graph_id="r", node_id="x", share=SHARE, cost=1)
    played.happen(RunSeen(at=NOON, run=run, class_window=0, group_window=8), asked(played))
    before = played.state.branch()
    assert before == played.state
    branch = played.state.branch()
    other = Played()
    other.state = branch
    other.report(other.lease().lease_id, "paused", "as asked")
    other.happen(RunSeen(at=NOON, run=replace(run, node_id="y"), class_window=0, group_window=8))
    other.start("k", dispatch=replace(DISPATCH, arrived=("n",), pick=PoolChange(levels=(change,))))
    other.start("u", graph_id="h", dispatch=DISPATCH)
    assert played.state == before
    pairs = [(getattr(branch.shares, each.name), getattr(before.shares, each.name)) for each in fields(Shares)]
    assert [one for one, other in pairs if one == other] == []


@pytest.mark.parametrize(
    ("satisfied", "name"),
    [((), ""), ((("a",), ("b", "c")), "a|b+c"), ((("a|b", "c+d%"),), "a%7Cb+c%2Bd%25")],
)
def test_each_pool_has_a_name_of_its_own(satisfied: tuple[tuple[str, ...], ...], name: str) -> None:
    assert (pool_name(satisfied), PoolChange(satisfied=satisfied).name) == (name, name)


def test_there_is_no_hold_where_nothing_is_held() -> None:
    assert (Shares().hold, LedgerState().shares) == (None, Shares())
