"""The table of transitions is what really happens: every state with every trigger, allowed or not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest

from metagit_mcp.domain.commands import (
    Enter,
    ReportState,
    ReportWork,
    RetryWork,
    ReviewResult,
    RevokeOwnership,
    StartWork,
)
from metagit_mcp.domain.decide import Command
from metagit_mcp.domain.limits import RetryPolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.transitions import TRANSITIONS, Trigger, may, triggers_from
from metagit_mcp.domain.work import WorkState
from metagit_mcp.errors import MetagitError
from tests.unit.domain.played import Played, row

STATES: tuple[WorkState, ...] = get_args(WorkState)
TRIGGERS: tuple[Trigger, ...] = get_args(Trigger)
REVIEWED = SchedulePolicy(groups={"g": GroupPolicy(review=True)})
ONE_ATTEMPT = SchedulePolicy(retries=RetryPolicy(max_attempts=1))
NAMES: dict[str, Any] = {"graph_id": "g", "node_id": "n"}
DAYS = 10 * 86_400


def of_lease(played: Played) -> str:
    """The lease that the node has or had; one that never was where there is none."""
    return next(iter({**played.state.closed, **played.state.leases}), "L-AAAAAAAAAAAA")


def report(state: ReportState) -> Callable[[Played], Command]:
    return lambda played: ReportWork(lease_id=of_lease(played), state=state, note="because")


COMMANDS: dict[Trigger, Callable[[Played], Command]] = {
    "accept": lambda _: StartWork(**NAMES, agent_id="ada", queue_only=True),
    "start": lambda _: StartWork(**NAMES, agent_id="ada"),
    "heartbeat": report("running"),
    "checkpoint": report("checkpointed"),
    "pause": report("paused"),
    "block": report("blocked"),
    "release": report("released"),
    "complete": report("completed"),
    "fail": report("failed"),
    "accept_result": lambda _: ReviewResult(**NAMES, by="eve", accept=True),
    "reject_result": lambda _: ReviewResult(**NAMES, by="eve", accept=False),
    "retry": lambda _: RetryWork(**NAMES, by="eve"),
    "revoke": lambda _: RevokeOwnership(**NAMES, by="eve"),
    "new_session": lambda _: Enter(agent_id="ada", new_session=True),
}
ROWS: dict[Trigger, str] = {
    "unblock": "ready",
    "cancel": "cancelled",
    "finish_elsewhere": "completed",
    "block_elsewhere": "blocked",
    "open_elsewhere": "running",
}
LAPSES: tuple[Trigger, ...] = ("blocked_lease_ends", "start_by_passes", "lease_expires")
REPORTS = ("heartbeat", "checkpoint", "pause", "block", "release", "complete", "fail")


def in_state(state: WorkState) -> Played:
    """Play until the node is in a state, under a lease of ada where it ever had one."""
    played = Played()
    played.enter()
    if state == "queued":
        played.accept()
    elif state != "open":
        lease = played.start()
        ending = {"submitted": "completed", "parked": "failed", "completed": "completed", "blocked": "blocked"}
        played.policy = {"submitted": REVIEWED, "parked": ONE_ATTEMPT}.get(state, played.policy)
        if state in ending:
            played.report(lease, ending[state], "because")
        if state == "cancelled":
            played.lapse(row("cancelled", after=1))
        played.policy = SchedulePolicy()
    return played


def state_of(played: Played) -> WorkState:
    item = played.state.item(("g", "n"))
    return "open" if item is None else item.state


def pull(played: Played, trigger: Trigger) -> str | None:
    """Pull a trigger, and return the code of the refusal."""
    played.wait(60)
    if trigger in COMMANDS:
        try:
            refusal = played.do(COMMANDS[trigger](played)).refusal
        except MetagitError as error:
            refusal = error
        return None if refusal is None else refusal.code
    if trigger in LAPSES:
        played.wait(DAYS)
        played.lapse()
    else:
        played.lapse(row(ROWS[trigger], after=90, reason="because"))
    return None


def test_each_state_is_reached() -> None:
    assert [state_of(in_state(state)) for state in STATES] == list(STATES)


def test_each_trigger_can_be_pulled() -> None:
    assert {*COMMANDS, *ROWS, *LAPSES} == set(TRIGGERS) == {each.trigger for each in TRANSITIONS}


ALLOWED = [(state, trigger) for state in STATES for trigger in TRIGGERS if may(state, trigger)]


# What another program says of open work counts as it stands in the file (test_lapses.py).
@pytest.mark.parametrize(("state", "trigger"), [each for each in ALLOWED if each[0] != "open" or each[1] not in ROWS])
def test_what_the_table_allows_happens(state: WorkState, trigger: Trigger) -> None:
    played = in_state(state)
    assert pull(played, trigger) is None
    targets = {to for each in TRANSITIONS if each.trigger == trigger and state in each.sources for to in each.targets}
    assert state_of(played) in targets


@pytest.mark.parametrize(
    ("state", "trigger", "policy", "target"),
    [
        ("active", "complete", REVIEWED, "submitted"),
        ("active", "complete", SchedulePolicy(), "completed"),
        ("active", "fail", ONE_ATTEMPT, "parked"),
        ("active", "fail", SchedulePolicy(), "open"),
        ("blocked", "unblock", SchedulePolicy(), "queued"),
    ],
)
def test_of_two_targets_the_rule_chooses(
    state: WorkState, trigger: Trigger, policy: SchedulePolicy, target: WorkState
) -> None:
    played = in_state(state)
    played.policy = policy
    assert pull(played, trigger) is None
    assert state_of(played) == target


def stated(state: WorkState, trigger: Trigger) -> str | None:
    """The refusal of what the table does not allow; None: nothing happens, and nobody is there to be refused."""
    if trigger in REPORTS:
        return "LEASE_NOT_FOUND" if state in {"open", "queued"} else "WORK_STALE_OWNERSHIP"
    # Taking what one has already is no mistake, and opening a session none either.
    if trigger in LAPSES or trigger == "new_session" or (trigger == "accept" and state in {"queued", "active"}):
        return None
    return "INVALID_STATE_TRANSITION"


# Rows are in test_lapses.py; a term ends in the one way that its state has.
REFUSED = [
    (state, trigger)
    for state in STATES
    for trigger in TRIGGERS
    if not may(state, trigger)
    and trigger not in ROWS
    and not (trigger in LAPSES and any(may(state, each) for each in LAPSES))
]


@pytest.mark.parametrize(("state", "trigger"), REFUSED)
def test_what_the_table_does_not_allow_changes_nothing(state: WorkState, trigger: Trigger) -> None:
    played = in_state(state)
    before = played.state.item(("g", "n"))
    assert pull(played, trigger) == stated(state, trigger)
    after = played.state.item(("g", "n"))
    assert (after and replace(after, evidence=())) == before


def test_a_refused_transition_tells_the_story() -> None:
    played = in_state("active")
    played.report(of_lease(played), "failed", "it broke")
    with pytest.raises(MetagitError) as caught:
        played.do(RetryWork(**NAMES, by="eve"))
    assert caught.value.as_record() == {
        "code": "INVALID_STATE_TRANSITION",
        "message": "Node n is open: there is no retry.",
        "hint": "metagit_schedule_next with claim=true gives work to do.",
        "details": {
            "graph_id": "g",
            "node_id": "n",
            "trigger": "retry",
            "allowed": ["accept", "start", "cancel", "finish_elsewhere", "block_elsewhere"],
            "state": "open",
            "since": "2026-03-01T12:00:00Z",
            "ownership_epoch": 1,
            "failures": 1,
            "attempts": ["failed 2026-03-01T12:00:00Z ada"],
        },
        "retryable": False,
    }


def test_a_refused_transition_of_a_node_that_nobody_heard_of() -> None:
    with pytest.raises(MetagitError) as caught:
        Played().do(RevokeOwnership(**NAMES, by="eve"))
    assert caught.value.details == {
        "graph_id": "g",
        "node_id": "n",
        "trigger": "revoke",
        "allowed": list(triggers_from("open")),
        "state": "open",
    }


@pytest.mark.parametrize("state", ["completed", "cancelled"])
def test_finished_work_is_only_begun_anew(state: WorkState) -> None:
    assert triggers_from(state) == ("open_elsewhere",)
