"""What people decide: reviews, revocations, retries, pauses. The same question always has the same answer."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from metagit_mcp.domain.commands import PauseScheduling, ResumeScheduling, RetryWork, ReviewResult, RevokeOwnership
from metagit_mcp.domain.events import (
    OwnershipRevoked,
    ResultAccepted,
    ResultRejected,
    SchedulingPaused,
    SchedulingResumed,
    WorkRetried,
)
from metagit_mcp.domain.limits import RetryPolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.projection import as_known, is_parked_elsewhere
from metagit_mcp.domain.work import Attempt, Pause, Result, Usage
from metagit_mcp.errors import InvalidInput, InvalidStateTransition
from tests.unit.domain.played import NOON, Played, kinds, row

MINUTE = timedelta(seconds=60)
NAMES: dict[str, Any] = {"graph_id": "g", "node_id": "n", "by": "eve"}
REVIEWED = SchedulePolicy(groups={"g": GroupPolicy(review=True)})


def submitted() -> Played:
    played = Played(REVIEWED)
    played.report(played.start(), "completed", usage=Usage(tokens=3), result=Result(summary="done"))
    return played


def test_an_accepted_result_is_done() -> None:
    played = submitted()
    assert played.do(ReviewResult(**NAMES, accept=True)).events == (ResultAccepted(at=NOON, **NAMES),)
    item = played.item()
    assert (item.state, item.owner, item.result, item.spent) == (
        "completed",
        "ada",
        Result(summary="done"),
        Usage(tokens=3),
    )


def test_a_rejected_result_is_an_attempt_and_the_node_is_open() -> None:
    played = submitted()
    assert played.do(ReviewResult(**NAMES, accept=False, note="no tests")).events == (
        ResultRejected(at=NOON, note="no tests", **NAMES),
    )
    item = played.item()
    assert (item.state, item.owner, item.failures) == ("open", None, 0)
    assert item.attempts == (Attempt(agent_id="ada", at=NOON, outcome="rejected", note="no tests"),)
    played.start("n", "bob")
    assert played.item().ownership_epoch == 2


@pytest.mark.parametrize("accept", [True, False])
def test_a_result_is_judged_once(*, accept: bool) -> None:
    played = submitted()
    played.do(ReviewResult(**NAMES, accept=accept))
    with pytest.raises(InvalidStateTransition):
        played.do(ReviewResult(**NAMES, accept=accept))


def test_a_revocation_ends_the_lease_and_tells_who_had_it() -> None:
    played = Played()
    lease_id = played.start()
    played.report(lease_id, "running", usage=Usage(seconds=4))
    assert played.do(RevokeOwnership(**NAMES, note="stuck")).events == (
        OwnershipRevoked(at=NOON, note="stuck", **NAMES),
    )
    item = played.item()
    assert (item.state, item.owner, item.lease_id, item.spent) == ("open", None, None, Usage(seconds=4))
    assert item.attempts == (Attempt(agent_id="ada", at=NOON, outcome="revoked", note="stuck"),)
    assert played.state.closed[lease_id].closure == "revoked"


def test_a_revocation_of_work_without_a_lease() -> None:
    played = Played()
    played.accept()
    played.do(RevokeOwnership(**NAMES))
    assert (played.item().state, played.state.terms, played.state.closed) == ("open", {}, {})


def test_a_parked_node_is_retried_with_its_failures_forgotten() -> None:
    played = Played(SchedulePolicy(retries=RetryPolicy(max_attempts=1)))
    played.report(played.start(), "failed", "broke")
    assert played.do(RetryWork(**NAMES)).events == (WorkRetried(at=NOON, **NAMES),)
    item = played.item()
    assert (item.state, item.failures, item.retry_at, item.note) == ("open", 0, None, "")
    assert [each.outcome for each in item.attempts] == ["failed"]


def test_a_node_that_only_its_file_has_as_parked_is_retried_too() -> None:
    failed = row("blocked", after=60, reason="failed: elsewhere")
    played = Played()
    command = RetryWork(**NAMES, is_parked_elsewhere=is_parked_elsewhere(None, failed), seen_at=NOON + MINUTE)
    assert played.do(command).events == (WorkRetried(at=NOON, seen_at=NOON + MINUTE, **NAMES),)
    assert (played.item().state, as_known(failed, played.item()).status) == ("open", "ready")
    assert not is_parked_elsewhere(played.item(), failed)
    later = row("blocked", after=61, reason="failed: again")
    assert is_parked_elsewhere(played.item(), later)
    assert not is_parked_elsewhere(played.item(), row("blocked", after=61, reason="waits"))
    played.start()
    with pytest.raises(InvalidStateTransition):
        played.do(command)


@pytest.mark.parametrize("until", [NOON, NOON - MINUTE])
def test_a_pause_that_is_over_takes_the_place_of_none_that_stands(until: datetime) -> None:
    played = Played()
    played.do(PauseScheduling(scope="workspace", name="", by="eve"))
    with pytest.raises(InvalidInput) as caught:
        played.ask(PauseScheduling(scope="workspace", name="", by="ada", until=until))
    assert (caught.value.message, caught.value.details) == ("until: has passed", {"field": "until"})
    assert [each.by for each in played.state.pauses.values()] == ["eve"]


def test_a_scope_is_paused_once_and_resumed_once() -> None:
    played = Played()
    until = NOON + timedelta(hours=1)
    pause = PauseScheduling(scope="group", name="g", by="eve", reason="release", until=until)
    assert played.do(pause).events == (
        SchedulingPaused(at=NOON, scope="group", name="g", by="eve", reason="release", until=until),
    )
    assert played.do(pause).events == ()
    longer = PauseScheduling(scope="group", name="g", by="eve", reason="release")
    assert kinds(played.do(longer).events) == ["SchedulingPaused"]
    played.do(PauseScheduling(scope="agent", name="g", by="eve"))
    assert played.state.pauses == {
        "group:g": Pause(scope="group", name="g", by="eve", at=NOON, reason="release"),
        "agent:g": Pause(scope="agent", name="g", by="eve", at=NOON),
    }
    resume = ResumeScheduling(scope="group", name="g", by="bob")
    assert played.do(resume).events == (SchedulingResumed(at=NOON, scope="group", name="g", by="bob"),)
    assert played.do(resume).events == ()
    assert list(played.state.pauses) == ["agent:g"]
