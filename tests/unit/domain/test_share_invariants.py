"""Each invariant of shares notices the smallest state that breaks it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from metagit_mcp.domain.charging import RECENT_KEPT
from metagit_mcp.domain.invariants import violations
from metagit_mcp.domain.share_events import PreemptionRequested, RunSeen
from metagit_mcp.domain.shares import (
    LCM,
    ROOT,
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
)
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import Share
from tests.unit.domain.played import NOON, Played

LEASE = "L-AAAAAAAAAAAB"
SHARE = Share(priority_class="normal", class_weight=4, group_weight=1)
Harm = Callable[[LedgerState], Any]


def whole() -> LedgerState:
    """A picked node that is asked to pause for another one, a run of another program, and ages."""
    played = Played()
    root = LevelChange(level=ROOT, virtual=0, flows={"normal": FlowTag(tag=LCM // 4, weight=4, eligible=True)})
    inside = LevelChange(level="normal", virtual=0, flows={"g": FlowTag(tag=LCM, weight=1, eligible=True)})
    dispatch = Dispatch(
        share=SHARE,
        class_window=0,
        group_window=8,
        pick=PoolChange(levels=(root, inside)),
        arrived=("m", "o"),
        lacking="o",
    )
    played.start("n", dispatch=dispatch)
    played.happen(
        RunSeen(at=NOON, run=Run(graph_id="r", node_id="x", share=SHARE, cost=1), class_window=0, group_window=8),
        PreemptionRequested(at=NOON, lease_id=LEASE, graph_id="h", node_id="u", slots=1),
    )
    return played.state


def level(name: str, **changes: Any) -> Harm:  # noqa: ANN401 - fields of a level
    def change(state: LedgerState) -> None:
        levels = state.shares.pools[""].levels
        levels[name] = replace(levels[name], **changes)

    return change


def aged(**changes: Any) -> Harm:  # noqa: ANN401 - fields of an age
    def change(state: LedgerState) -> None:
        ages = state.shares.rounds["g"].ages
        ages["m"] = replace(ages["m"], **changes)

    return change


def rounded(**changes: Any) -> Harm:  # noqa: ANN401 - fields of a round
    def change(state: LedgerState) -> None:
        state.shares.rounds["g"] = replace(state.shares.rounds["g"], **changes)

    return change


def held(**changes: Any) -> Harm:  # noqa: ANN401 - fields of a hold
    def change(state: LedgerState) -> None:
        state.shares.holds[:] = [replace(state.shares.holds[0], **changes)]

    return change


def turn_ages_round(state: LedgerState) -> None:
    ages = state.shares.rounds["g"].ages
    ages["m"] = ages.pop("m")


ASKED = Preemption(lease_id=LEASE, graph_id="h", node_id="u", at=NOON)
BROKEN: list[tuple[Harm, str]] = [
    (lambda state: state.shares.pools.update(x=Pool()), "pools keep '' under 'x'"),
    (level("normal", eligible=2), "level 'normal' of pool '': 2 flows are said to be eligible, and 1 are"),
    (level(ROOT, virtual=LCM), f"level '' of pool '': normal is eligible at {LCM // 4}, below V {LCM}"),
    (level(ROOT, top=0), f"level '' of pool '': the largest tag is {LCM // 4}, and not 0"),
    (level("normal", top=5, virtual=7, flows={}), "level 'normal' of pool '': the largest tag is 7, and not 5"),
    (rounded(guarded_at=2), "the dispatches of g: the guard picked at 2 of 1"),
    (rounded(guarded_at=0), "the dispatches of g: the guard picked at 0 of 1"),
    (rounded(lacking=None), "the dispatches of g: 1 starts while None lacks quota"),
    (rounded(lacking_starts=0), "the dispatches of g: 0 starts while o lacks quota"),
    (rounded(numbered=1), "the dispatches of g: the numbers of ages are [0, 1] of 1"),
    (aged(number=1), "the dispatches of g: the numbers of ages are [1, 1] of 2"),
    (turn_ages_round, "the dispatches of g: the numbers of ages are [1, 0] of 2"),
    (aged(first=1), "the dispatches of g: m came at 1 and was passed over 1 times"),
    (aged(since=2), "the dispatches of g: m came at 0 and was passed over -1 times"),
    (aged(since=None, passed=2), "the dispatches of g: m came at 0 and was passed over 2 times"),
    (aged(passed=1), "the dispatches of g: m came at 0 and was passed over 1 times"),
    (
        lambda state: state.shares.holds.append(Hold(graph_id="h", node_id="v", slots=1, at=NOON)),
        "slots are held for 2 nodes",
    ),
    (held(graph_id="g", node_id="n"), "slots are held for node n of g, which runs"),
    (held(node_id="v"), f"lease {LEASE} is asked to pause for node u of h, for which no slot is held"),
    (held(preempts=False), f"lease {LEASE} is asked to pause for node u of h, for which no slot is held"),
    (lambda state: state.shares.preemptions.update(x=ASKED), f"preemptions keep {LEASE} under x"),
    (lambda state: state.shares.preemptions.update(x=ASKED), "2 leases are asked to pause at a time"),
    (
        lambda state: state.shares.preemptions.update(x=replace(ASKED, lease_id="x")),
        "lease x is asked to pause and is not live",
    ),
    (lambda state: state.shares.asked.update(z={}), "nodes of z asked others to pause, but none is named"),
    (lambda state: state.shares.asked["h"].update(u=0), "node u of h waits for 0 slots that it asked for"),
    (lambda state: state.shares.asked.update(g={"n": 1}), "node n of g waits for 1 slots that it asked for"),
    (lambda state: state.shares.runs.update(z={}), "runs of z are charged, but none is named"),
    (
        lambda state: state.shares.runs["r"].update(y=state.shares.runs["r"]["x"]),
        "runs keep node x of r under node y of r",
    ),
    (
        lambda state: state.shares.recent.extend(state.shares.recent * RECENT_KEPT),
        f"{RECENT_KEPT + 1} charges are remembered",
    ),
]


def test_nothing_is_wrong_with_a_whole_state() -> None:
    state = whole()
    assert violations(state) == []
    state.shares.pools["x"] = Pool(satisfied=(("x",),), levels={"": Level()})
    state.shares.rounds["z"] = Round()
    assert violations(state) == []


@pytest.mark.parametrize(("harm", "line"), BROKEN)
def test_what_does_not_hold_is_named(harm: Harm, line: str) -> None:
    state = whole()
    harm(state)
    assert line in violations(state)
