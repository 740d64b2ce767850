"""Scripts branch on the exit code: each error code has one, and `next` tells work from idleness."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from metagit_mcp import errors
from metagit_mcp.errors import MetagitError
from metagit_mcp.interfaces.cli.exits import EXIT_CODES
from tests.interfaces.mcp.fake_application import AT, DECISION, LEASE, next_answer, status_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.interfaces.cli.conftest import Ended

from metagit_mcp.wire.responses import NextAnswer, PauseRecord, ReasonCount
from metagit_mcp.wire.status_answers import PersonNeeded


def all_errors(root: type[MetagitError] = MetagitError) -> Iterator[type[MetagitError]]:
    yield root
    for each in root.__subclasses__():
        yield from all_errors(each)


PUBLIC = sorted(
    (each for each in all_errors() if each.__module__ == errors.__name__ and each is not MetagitError),
    key=lambda each: each.code,
)


def test_every_error_code_has_an_exit_code_and_no_other_has() -> None:
    assert set(EXIT_CODES) == {each.code for each in all_errors()}


def test_the_exit_codes_are_the_documented_ones() -> None:
    assert {
        **dict.fromkeys(["INVALID_INPUT", "SCHEMA_VALIDATION_FAILED", "GRAPH_CYCLE", "UNKNOWN_DEPENDENCY"], 2),
        **dict.fromkeys(["WORKSPACE_NOT_FOUND", "GRAPH_NOT_FOUND", "NODE_NOT_FOUND", "NODE_AMBIGUOUS"], 3),
        **dict.fromkeys(["LEASE_NOT_FOUND", "GROUP_NOT_FOUND", "TOKEN_NOT_FOUND"], 3),
        **dict.fromkeys(["GRAPH_EXISTS", "REVISION_CONFLICT", "NODE_NOT_ELIGIBLE"], 4),
        **dict.fromkeys(["AUTH_FORBIDDEN", "AUTH_REQUIRED"], 4),
        **dict.fromkeys(["WORK_ALREADY_OWNED", "WORK_LEASE_EXPIRED", "WORK_STALE_OWNERSHIP", "AUTH_STALE_SESSION"], 4),
        **dict.fromkeys(["APPROVAL_REQUIRED", "BUDGET_EXCEEDED", "CAPACITY_EXCEEDED"], 4),
        **dict.fromkeys(["INVALID_STATE_TRANSITION", "ACTION_ID_COLLISION"], 4),
        **dict.fromkeys(["EVENT_CONFLICT", "BACKPRESSURE", "CURSOR_TOO_OLD"], 4),
        **dict.fromkeys(["POLICY_INVALID", "GRAPH_INVALID", "HOST_FILE_INVALID"], 5),
        **dict.fromkeys(["STORE_UNAVAILABLE", "STORE_CORRUPT", "READ_ONLY"], 5),
        "STORE_TOO_NEW": 5,
        "INTERNAL_ERROR": 1,
    } == EXIT_CODES


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.code)
def test_an_error_is_shown_with_its_exit_code(run: Callable[..., Ended], kind: type[MetagitError]) -> None:
    error = kind("What happened.", hint="What to do.", graph_id="shop")

    for_script = run("schedule", "next", "--json", schedule_next=error)
    for_person = run("schedule", "next", schedule_next=error)

    assert (for_script.code, for_script.record, for_script.err) == (EXIT_CODES[kind.code], error.as_record(), "")
    assert (for_person.code, for_person.out) == (EXIT_CODES[kind.code], "")
    assert for_person.err == f"error: What happened. [{kind.code}]\nhint: What to do.\n"


def idle(*reasons: str) -> NextAnswer:
    return replace(next_answer(), not_eligible=tuple(ReasonCount(reason=reason, nodes=1) for reason in reasons))


@pytest.mark.parametrize(
    ("reasons", "persons", "code"),
    [
        ((), 0, 10),
        (("finished",), 0, 10),
        (("not_ready",), 0, 10),
        (("blocked",), 1, 11),
        (("awaiting_approval", "not_ready", "finished"), 2, 11),
        (("not_ready",), 1, 11),
        (("graph_invalid",), 1, 11),
        (("blocked", "deferred"), 1, 10),
        (("blocked", "observed"), 1, 10),
        (("blocked", "capability_missing"), 1, 10),
        (("blocked", "merge_pressure"), 1, 10),
        (("blocked", "group_quota"), 1, 10),
        (("blocked", "no_slot"), 1, 10),
        (("blocked", "retry_at"), 1, 10),
        (("blocked", "leased"), 1, 10),
        (("blocked", "owned"), 1, 10),
        (("blocked", "exclusive"), 1, 10),
        (("blocked", "conflicts_with"), 1, 10),
        (("blocked", "resource_closed"), 1, 10),
        (("blocked", "reserved"), 1, 10),
        (("resource_busy",), 0, 10),
        (("never_fits",), 1, 11),
        (("never_fits",), 0, 10),
        (("agent_slots",), 0, 11),
        (("agent_slots", "leased"), 1, 10),
        (("awaiting_review", "not_ready"), 1, 11),
        (("budget_exhausted",), 1, 11),
    ],
)
def test_idleness_that_only_a_person_can_end_has_its_own_code(
    run: Callable[..., Ended], reasons: tuple[str, ...], persons: int, code: int
) -> None:
    status = replace(status_answer(), needs_person_total=persons)
    assert run("schedule", "next", schedule_next=idle(*reasons), schedule_status=status).code == code


def test_idleness_is_said_aside_where_the_answer_is_captured(run: Callable[..., Ended]) -> None:
    """`node=$(… --json)` has the whole answer, and whoever reads along has the reasons."""
    why = "Nothing can be started now. 1 leased: agents work on them; ask metagit_schedule_next again."
    idle_answer = replace(idle("leased"), next_step=why)
    for_script = run("schedule", "next", "--claim", "--json", schedule_next=idle_answer)
    assert (for_script.code, for_script.record["not_eligible"]) == (10, [{"reason": "leased", "nodes": 1}])
    assert for_script.err == why.replace("metagit_schedule_next", "metagit-mcp schedule next") + "\n"
    assert for_script.record["next_step"] == why
    for_person = run("schedule", "next", schedule_next=idle_answer)
    assert (for_person.code, for_person.err, "next step: Nothing can" in for_person.out) == (10, "", True)


def test_who_has_work_is_told_nothing_aside(run: Callable[..., Ended]) -> None:
    for answer in (next_answer(DECISION), replace(next_answer(), held=(LEASE,))):
        ended = run("schedule", "next", "--json", schedule_next=answer)
        assert (ended.code, ended.err) == (0, "")


PAUSE = PauseRecord(scope="workspace", name="", by="ada", at=AT)


@pytest.mark.parametrize(
    ("pauses", "code"),
    [((), 11), ((PAUSE,), 11), ((replace(PAUSE, until=AT),), 10), ((PAUSE, replace(PAUSE, until=AT)), 10)],
)
def test_a_pause_ends_by_itself_if_it_has_an_end(
    run: Callable[..., Ended], pauses: tuple[PauseRecord, ...], code: int
) -> None:
    status = replace(status_answer(), pauses=pauses)
    assert run("schedule", "next", schedule_next=idle("paused"), schedule_status=status).code == code


@pytest.mark.parametrize(("running", "code"), [(1, 11), (2, 10)])
def test_a_run_whose_time_is_over_does_not_end_by_itself(run: Callable[..., Ended], running: int, code: int) -> None:
    lost = PersonNeeded(graph_id="shop", node_id="test", reason="observed(since 2026-11-01T12:00:00Z, overdue)")
    status = replace(status_answer(), needs_person=(lost,), needs_person_total=1)
    answer = replace(next_answer(), not_eligible=(ReasonCount(reason="observed", nodes=running),))
    assert run("schedule", "next", schedule_next=answer, schedule_status=status).code == code


@pytest.mark.parametrize(("busy", "code"), [(3, 11), (4, 10)])
def test_a_resource_that_is_too_small_does_not_end_by_itself(run: Callable[..., Ended], busy: int, code: int) -> None:
    small = PersonNeeded(graph_id="shop", node_id="test", nodes=3, reason="resource_busy(api, 0/1)")
    status = replace(status_answer(), needs_person=(small,), needs_person_total=1)
    answer = replace(next_answer(), not_eligible=(ReasonCount(reason="resource_busy", nodes=busy),))
    assert run("schedule", "next", schedule_next=answer, schedule_status=status).code == code


def test_who_holds_leases_has_work(run: Callable[..., Ended]) -> None:
    answer = replace(next_answer(), held=(LEASE,))
    ended = run("schedule", "next", "--claim", schedule_next=answer)
    assert (ended.code, [name for name, _ in ended.asked]) == (0, ["schedule.next"])


def test_work_is_zero_and_asks_once(run: Callable[..., Ended]) -> None:
    ended = run("schedule", "next")
    assert (ended.code, [name for name, _ in ended.asked]) == (0, ["schedule.next"])


def test_the_question_behind_an_idle_answer_is_about_the_same_graph(run: Callable[..., Ended]) -> None:
    ended = run("schedule", "next", "--graph-id", "shop", schedule_next=idle("blocked"))
    assert [(name, question[0].graph_id) for name, question in ended.asked] == [
        ("schedule.next", "shop"),
        ("schedule.status", "shop"),
    ]
    # And over the same workspace, which is read once.
    assert len(ended.application.flags) == 1
