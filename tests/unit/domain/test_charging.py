"""The fold over starts and ends of work: what each does to tags, ages, holds and requests, in whole values."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from metagit_mcp.domain.charging import EVOLVE_SHARES, RECENT_KEPT, corrected, dispatched, retagged, units_of
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.share_events import (
    HoldEnded,
    HoldFilled,
    PreemptionRequested,
    RunEnded,
    RunSeen,
    ShareEvent,
    SlotsHeld,
)
from metagit_mcp.domain.shares import (
    LCM,
    ROOT,
    Age,
    Charged,
    Dispatch,
    FlowTag,
    Hold,
    Level,
    LevelChange,
    Pool,
    PoolChange,
    Preemption,
    Round,
    Run,
    Shares,
)
from metagit_mcp.domain.work import ExecutionLease, Holding, Share, Usage
from tests.unit.domain.played import NOON

NORMAL = Share(priority_class="normal", class_weight=4, group_weight=2)
GPU = (("gpu",),)
UNTIL = Expiry(at=NOON + timedelta(hours=1))


def lease(node_id: str = "n", graph_id: str = "g", cost: int = 3, **more: Any) -> ExecutionLease:  # noqa: ANN401 - any field
    named: dict[str, Any] = {"lease_id": f"L-{node_id}", "share": NORMAL, **more}
    return ExecutionLease(
        graph_id=graph_id,
        node_id=node_id,
        agent_id="ada",
        session_epoch=1,
        ownership_epoch=1,
        granted_at=NOON,
        expiry=UNTIL,
        term_seconds=3600,
        holding=Holding(slots=1, cost=cost),
        **named,
    )


def dispatch(**more: Any) -> Dispatch:  # noqa: ANN401 - any field
    return Dispatch(**{"share": NORMAL, "class_window": 0, "group_window": 8, **more})


def happen(shares: Shares, event: ShareEvent) -> tuple[str, str] | None:
    return EVOLVE_SHARES[type(event)](shares, event)


def pooled(satisfied: tuple[tuple[str, ...], ...] = (), **levels: Level) -> Pool:
    """A pool; the root is named `root` here."""
    return Pool(satisfied=satisfied, levels={ROOT if name == "root" else name: each for name, each in levels.items()})


# --- figures ---


@pytest.mark.parametrize(
    ("slots", "tokens", "units"), [(1, 0, 1), (1, 1000, 1), (1, 1001, 2), (3, 1, 3), (2, 999_001, 2000)]
)
def test_a_charge_is_slots_times_thousands_of_tokens(slots: int, tokens: int, units: int) -> None:
    assert units_of(slots, tokens) == units


@pytest.mark.parametrize(
    ("tag", "before", "weight", "after"),
    [(20, 1, 2, 15), (20, 3, 16, 11), (20, 2, 1, 20), (20, 2, 2, 20), (10, 1, 16, 10), (4, 1, 2, 4)],
)
def test_a_raised_weight_brings_a_flow_nearer_to_v_and_a_lowered_one_leaves_it(
    tag: int, before: int, weight: int, after: int
) -> None:
    assert retagged(tag, 10, before, weight) == after


# --- starts ---


def test_the_first_start_of_all_makes_the_pool_of_anybody() -> None:
    shares = Shares()
    dispatched(shares, lease(), dispatch(), NOON)
    root = Level(top=3 * LCM // 4, flows={"normal": FlowTag(tag=3 * LCM // 4, weight=4, charged=True)})
    inside = Level(top=3 * LCM // 2, flows={"g": FlowTag(tag=3 * LCM // 2, weight=2, charged=True)})
    assert shares == Shares(
        pools={"": pooled(root=root, normal=inside)},
        rounds={"g": Round(dispatches=1)},
        recent=[Charged(graph_id="g", priority_class="normal", cost=3)],
    )


def test_a_pick_leaves_its_pool_as_it_says_and_is_charged_in_the_others() -> None:
    shares = Shares(
        pools={
            "": pooled(
                root=Level(
                    top=9,
                    eligible=2,
                    flows={
                        "low": FlowTag(tag=9, weight=1, eligible=True),
                        "high": FlowTag(tag=4, weight=8, eligible=True),
                    },
                )
            ),
            "gpu": pooled(GPU),
        }
    )
    change = LevelChange(
        level=ROOT,
        virtual=4,
        flows={"normal": FlowTag(tag=7, weight=4, eligible=True), "high": FlowTag(tag=4, weight=8, charged=True)},
        gone=("low", "unknown"),
    )
    dispatched(shares, lease(cost=1), dispatch(pick=PoolChange(levels=(change,))), NOON)
    picked = Level(virtual=4, top=9, eligible=1, flows=dict(change.flows))
    charged_root = Level(top=LCM // 4, flows={"normal": FlowTag(tag=LCM // 4, weight=4, charged=True)})
    charged_inside = Level(top=LCM // 2, flows={"g": FlowTag(tag=LCM // 2, weight=2, charged=True)})
    assert shares.pools == {
        "": pooled(root=picked),
        "gpu": pooled(GPU, root=charged_root, normal=charged_inside),
    }


@pytest.mark.parametrize(("split_from", "kept"), [("", 5), (None, 0), ("gone", 0)])
def test_a_pool_that_comes_up_starts_with_the_tags_that_it_was_split_from(split_from: str | None, kept: int) -> None:
    low = FlowTag(tag=5, weight=1, charged=True)
    shares = Shares(pools={"": pooled(root=Level(top=5, flows={"low": low}))})
    change = LevelChange(level=ROOT, virtual=1, flows={"high": FlowTag(tag=2, weight=8, eligible=True)})
    pick = PoolChange(satisfied=GPU, split_from=split_from, levels=(change,))
    dispatched(shares, lease(share=None), dispatch(pick=pick), NOON)
    flows = {"low": low, **change.flows} if kept else dict(change.flows)
    assert shares.pools["gpu"] == pooled(GPU, root=Level(virtual=1, top=max(kept, 2), eligible=1, flows=flows))
    # The one it was split from goes its own way: there it was no pick.
    assert shares.pools[""].levels[ROOT].flows["normal"].tag == 3 * LCM // 4


def test_pools_in_which_nobody_can_be_any_more_are_forgotten() -> None:
    shares = Shares(pools={"": Pool(), "gpu": Pool(satisfied=GPU)})
    dispatched(shares, lease(), dispatch(pick=PoolChange(dropped=("gpu", "unknown"))), NOON)
    assert list(shares.pools) == [""]


UNIT = LCM // 4


@pytest.mark.parametrize(
    ("before", "weight", "window", "after"),
    [
        # Not eligible: from V on.
        (FlowTag(tag=5, weight=4), 4, 0, 100 + 3 * UNIT),
        # At most the window and its charge past V.
        (FlowTag(tag=100 + UNIT, weight=4, eligible=True), 4, 0, 100 + 3 * UNIT),
        (FlowTag(tag=100 + UNIT, weight=4, eligible=True), 4, 1, 100 + 4 * UNIT),
        # What is further behind already stays there.
        (FlowTag(tag=100 + 9 * UNIT, weight=4, eligible=True), 4, 0, 100 + 9 * UNIT),
        # With its weight of now.
        (FlowTag(tag=100 + 8 * UNIT, weight=4, eligible=True), 8, 9, 100 + 4 * UNIT + 3 * UNIT // 2),
        (FlowTag(tag=100, weight=4), 1, 0, 100 + 12 * UNIT),
    ],
)
def test_a_start_that_was_no_pick_is_charged_within_bounds(
    before: FlowTag, weight: int, window: int, after: int
) -> None:
    level = Level(virtual=100, top=before.tag, eligible=int(before.eligible), flows={"normal": before})
    shares = Shares(pools={"": pooled(root=level)})
    share = replace(NORMAL, class_weight=weight)
    dispatched(shares, lease(), dispatch(share=share, class_window=window), NOON)
    flow = FlowTag(tag=after, weight=weight, eligible=before.eligible, charged=True)
    top = max(before.tag, after)
    assert shares.pools[""].levels[ROOT] == replace(level, top=top, flows={"normal": flow})


def test_by_score_nothing_is_charged_and_all_tags_are_forgotten() -> None:
    shares = Shares(pools={"": Pool()}, recent=[Charged(graph_id="h", priority_class="low", cost=1)])
    dispatched(shares, lease(share=None), dispatch(share=None), NOON)
    recent = [Charged(graph_id="h", priority_class="low", cost=1)]
    assert shares == Shares(rounds={"g": Round(dispatches=1)}, recent=recent)


def test_only_the_newest_charges_are_remembered() -> None:
    shares = Shares()
    for number in range(RECENT_KEPT + 3):
        dispatched(shares, lease(cost=number), dispatch(), NOON)
    assert [each.cost for each in shares.recent] == list(range(3, RECENT_KEPT + 3))


# --- ages ---


def test_whoever_waits_is_passed_over_by_each_dispatch_of_its_group() -> None:
    shares, later = Shares(), NOON + timedelta(seconds=5)
    dispatched(shares, lease("a"), dispatch(arrived=("a", "b", "c")), NOON)
    waits = {
        "b": Age(number=1, first=0, at=NOON, since=0),
        "c": Age(number=2, first=0, at=NOON, since=0),
    }
    assert shares.rounds == {"g": Round(dispatches=1, numbered=3, ages=waits)}
    # c cannot be started for a while, which pauses its age and nothing else.
    dispatched(shares, lease("d"), dispatch(arrived=("d",), left=("c",)), later)
    paused = {"b": waits["b"], "c": Age(number=2, first=0, at=NOON, passed=1)}
    assert shares.rounds["g"] == Round(dispatches=2, numbered=4, ages=paused)
    dispatched(shares, lease("e"), dispatch(guard=True), later)
    dispatched(shares, lease("f"), dispatch(arrived=("c", "n")), later)
    back = {
        "b": waits["b"],
        "c": Age(number=2, first=0, at=NOON, since=2),
        "n": Age(number=4, first=3, at=later, since=3),
    }
    assert shares.rounds["g"] == Round(dispatches=4, guarded_at=3, numbered=5, ages=back)


def test_starts_past_a_node_that_only_lacks_quota_are_counted() -> None:
    shares = Shares()
    counts = []
    for lacking in (None, "x", "x", "y", None, "x"):
        dispatched(shares, lease(), dispatch(lacking=lacking), NOON)
        counts.append((shares.rounds["g"].lacking, shares.rounds["g"].lacking_starts))
    assert counts == [(None, 0), ("x", 1), ("x", 2), ("y", 1), (None, 0), ("x", 1)]


# --- corrections ---


def charged(eligible: bool = True, weight: int = 4) -> Shares:  # noqa: FBT001, FBT002 - one flag, named at each call
    flow = FlowTag(tag=10 * LCM, weight=weight, eligible=eligible, charged=True)
    root = Level(virtual=9 * LCM, top=10 * LCM, eligible=int(eligible), flows={"normal": flow})
    return Shares(pools={"": pooled(root=root)})


@pytest.mark.parametrize(
    ("tokens", "weight", "eligible", "tag"),
    [
        (0, 4, True, 10 * LCM),
        (2500, 4, True, 10 * LCM),
        (5000, 4, True, 10 * LCM + 2 * LCM // 4),
        (5000, 8, True, 10 * LCM + 2 * LCM // 8),
        (5000, 1, True, 10 * LCM + 2 * LCM // 4),
        (1, 4, True, 10 * LCM - 2 * LCM // 4),
        (1, 1, False, 10 * LCM - 2 * LCM // 4),
    ],
)
def test_a_charge_is_corrected_by_what_was_used(tokens: int, weight: int, eligible: bool, tag: int) -> None:  # noqa: FBT001 - a column of the table
    shares = charged(eligible, weight)
    corrected(shares, lease(usage=Usage(tokens=tokens)))
    (flow,) = shares.pools[""].levels[ROOT].flows.values()
    assert flow == FlowTag(tag=tag, weight=weight, eligible=eligible, charged=True)
    assert shares.pools[""].levels[ROOT].top == max(10 * LCM, tag)


@pytest.mark.parametrize(("eligible", "units"), [(True, 9), (False, 7)])
def test_an_eligible_flow_is_never_corrected_below_v(eligible: bool, units: int) -> None:  # noqa: FBT001 - a column of the table
    shares = charged(eligible)
    corrected(shares, lease(cost=13, usage=Usage(tokens=1)))
    assert shares.pools[""].levels[ROOT].flows["normal"].tag == units * LCM


def test_who_left_a_level_is_not_corrected_in_it() -> None:
    before = charged()
    before.pools[""].levels["normal"] = Level()
    after = before.branch()
    corrected(after, lease(usage=Usage(tokens=5000), share=replace(NORMAL, priority_class="high")))
    assert after == before
    corrected(after, lease(usage=Usage(tokens=5000), share=None))
    assert after == before


def test_whose_lease_ended_is_asked_no_more_and_the_slot_stays_held() -> None:
    shares = Shares()
    happen(shares, PreemptionRequested(at=NOON, lease_id="L-n", graph_id="h", node_id="u", slots=1))
    corrected(shares, lease())
    held = Hold(graph_id="h", node_id="u", slots=1, at=NOON, preempts=True)
    assert shares == Shares(holds=[held], asked={"h": {"u": 1}})


# --- holds and requests ---


def test_a_hold_counts_other_starts_and_ends_with_its_own() -> None:
    shares = Shares()
    assert happen(shares, SlotsHeld(at=NOON, graph_id="h", node_id="w", slots=3)) == ("h", "w")
    assert shares.hold == Hold(graph_id="h", node_id="w", slots=3, at=NOON)
    dispatched(shares, lease("a"), None, NOON)
    dispatched(shares, lease("w", graph_id="g"), None, NOON)
    assert happen(shares, HoldFilled(at=NOON, until=UNTIL)) == ("h", "w")
    assert shares.hold == Hold(graph_id="h", node_id="w", slots=3, at=NOON, starts=2, until=UNTIL)
    dispatched(shares, lease("w", graph_id="h"), None, NOON)
    assert shares == Shares()


def request(lease_id: str = "L-n", node_id: str = "u") -> PreemptionRequested:
    return PreemptionRequested(at=NOON, lease_id=lease_id, graph_id="h", node_id=node_id, slots=1)


def test_a_request_holds_the_slot_and_is_met_by_the_start() -> None:
    shares = Shares()
    assert happen(shares, request()) == ("h", "u")
    held = Hold(graph_id="h", node_id="u", slots=1, at=NOON, preempts=True)
    asked = Preemption(lease_id="L-n", graph_id="h", node_id="u", at=NOON)
    assert shares == Shares(holds=[held], preemptions={"L-n": asked}, asked={"h": {"u": 1}})
    dispatched(shares, lease("u", graph_id="h"), None, NOON)
    assert shares == Shares()


def test_whoever_slots_are_held_for_keeps_them_all_when_one_more_is_asked() -> None:
    shares = Shares()
    happen(shares, SlotsHeld(at=NOON, graph_id="h", node_id="u", slots=3))
    assert happen(shares, request()) == ("h", "u")
    assert shares.holds == [Hold(graph_id="h", node_id="u", slots=3, at=NOON, preempts=True)]


@pytest.mark.parametrize(("lapsed", "left"), [(True, {"h": {"u": 1}}), (False, {})])
def test_after_the_hold_nobody_need_pause_and_only_a_new_arrival_asks_again(
    lapsed: bool,  # noqa: FBT001 - a column of the table
    left: dict[str, dict[str, int]],
) -> None:
    shares = Shares()
    happen(shares, request())
    assert happen(shares, HoldEnded(at=NOON, graph_id="h", node_id="u", lapsed=lapsed)) == ("h", "u")
    assert shares == Shares(asked=left)


def test_what_others_were_asked_for_is_another_matter() -> None:
    shares = Shares()
    happen(shares, request("L-a", "u"))
    happen(shares, HoldEnded(at=NOON, graph_id="h", node_id="u", lapsed=True))
    happen(shares, request("L-b", "v"))
    other = Preemption(lease_id="L-x", graph_id="g", node_id="v", at=NOON)
    shares.preemptions["L-x"] = other
    dispatched(shares, lease("v", graph_id="h"), None, NOON)
    assert shares == Shares(preemptions={"L-x": other}, asked={"h": {"u": 1}})


def test_a_node_that_could_not_be_started_for_a_while_comes_anew() -> None:
    """Its hold ran out, it left and came back: that is another arrival, which may ask again."""
    shares = Shares()
    dispatched(shares, lease("a", graph_id="h"), dispatch(arrived=("u",)), NOON)
    happen(shares, request())
    happen(shares, HoldEnded(at=NOON, graph_id="h", node_id="u", lapsed=True))
    dispatched(shares, lease("b", graph_id="h"), dispatch(left=("u",)), NOON)
    assert shares.asked == {}


# --- runs of others ---


def test_a_run_of_another_program_is_charged_once_in_every_pool() -> None:
    shares = Shares()
    run = Run(graph_id="g", node_id="x", share=NORMAL, cost=2)
    assert happen(shares, RunSeen(at=NOON, run=run, class_window=0, group_window=8)) == ("g", "x")
    root = Level(top=LCM // 2, flows={"normal": FlowTag(tag=LCM // 2, weight=4, charged=True)})
    inside = Level(top=LCM, flows={"g": FlowTag(tag=LCM, weight=2, charged=True)})
    pools = {"": pooled(root=root, normal=inside)}
    assert shares == Shares(pools=pools, runs={"g": {"x": run}})
    happen(shares, RunSeen(at=NOON, run=replace(run, node_id="y"), class_window=0, group_window=8))
    assert happen(shares, RunEnded(at=NOON, graph_id="g", node_id="x")) == ("g", "x")
    assert list(shares.runs["g"]) == ["y"]
    happen(shares, RunEnded(at=NOON, graph_id="g", node_id="y"))
    assert shares.runs == {}
