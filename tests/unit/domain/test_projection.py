"""What the file is to say of a node, and whose word counts where it says something else."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from metagit_mcp.domain.projection import (
    Projection,
    as_known,
    is_act,
    is_due,
    is_news,
    projection,
    row_instant,
    says_the_same,
)
from metagit_mcp.domain.work import WorkItem, WorkState
from tests.unit.domain.played import NOON, row

STATUSES: dict[WorkState, tuple[str, str | None]] = {
    "open": ("ready", None),
    "queued": ("ready", None),
    "active": ("running", None),
    "blocked": ("blocked", "why"),
    "submitted": ("running", None),
    "parked": ("blocked", "failed: why"),
    "completed": ("completed", None),
    "cancelled": ("cancelled", None),
}


def item(state: WorkState, after: int = 0) -> WorkItem:
    at = NOON + timedelta(seconds=after)
    return WorkItem(graph_id="g", node_id="n", state=state, changed_at=at, note="why")


@pytest.mark.parametrize("state", STATUSES)
def test_each_state_has_its_row(state: WorkState) -> None:
    status, reason = STATUSES[state]
    older = row("odd", after=-5, reason="gone")
    shown = projection(item(state), older)
    assert shown == Projection(status=status, blocker_reason=reason, updated_at=NOON)
    assert (is_due(item(state), older), is_act(item(state), older)) == (True, False)
    assert as_known(older, item(state)) == replace(older, status=status, blocker_reason=reason)
    written = row(status, reason=reason)
    assert (says_the_same(item(state), written), is_due(item(state), written)) == (True, False)
    assert as_known(written, item(state)) is written


@pytest.mark.parametrize("state", ["open", "queued"])
def test_pending_and_ready_are_one(state: WorkState) -> None:
    assert says_the_same(item(state), row("pending"))


@pytest.mark.parametrize(
    ("reason", "note", "same"), [(None, "", True), ("", "", True), ("x", "", False), ("x", "x", True)]
)
def test_a_block_is_its_reason_too(reason: str | None, note: str, *, same: bool) -> None:
    assert says_the_same(replace(item("blocked"), note=note), row("blocked", reason=reason)) is same


def test_what_is_written_is_never_older_than_what_is_there() -> None:
    assert projection(item("active"), row("ready", after=9)).updated_at == NOON + timedelta(seconds=9)
    assert projection(item("active"), replace(row("ready"), updated_at="?")).updated_at == NOON


def test_a_node_that_the_ledger_does_not_know_is_as_its_file_says() -> None:
    node = row("running")
    assert as_known(node, None) is node


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-03-01T12:00:00Z", NOON),
        ("2026-03-01T14:00:00+02:00", NOON),
        ("2026-03-01T12:00:00.000001Z", NOON + timedelta(microseconds=1)),
        (f"2026-03-01T12:00:00.{'0' * 99}Z", NOON),
        ("2026-03-01T12:00:00", None),
        ("2026-03-01", None),
        ("", None),
        ("soon", None),
        ("0001-01-01T00:00:00+23:00", None),
        ("9999-12-31T23:59:59-23:00", None),
        ("0001-01-01T00:00:00Z", datetime.min.replace(tzinfo=UTC)),
    ],
)
def test_the_instant_of_a_row(text: str, at: datetime | None) -> None:
    assert row_instant(text) == at


def test_open_work_is_told_of_by_its_row() -> None:
    newer = row("running", after=1)
    assert (is_act(item("open"), newer), is_news(item("open"), newer), is_due(item("open"), newer)) == (
        True,
        False,
        False,
    )
    assert as_known(newer, item("open")) is newer


@pytest.mark.parametrize(
    ("state", "status", "after", "news"),
    [
        ("active", "running", 1, True),
        ("active", "running", 0, False),
        ("active", "cancelled", 1, True),
        ("completed", "completed", 1, False),
        ("completed", "ready", 1, True),
        ("completed", "ready", 0, False),
    ],
)
def test_what_is_to_become_an_event(state: WorkState, status: str, after: int, *, news: bool) -> None:
    assert is_news(item(state), row(status, after=after)) is news
