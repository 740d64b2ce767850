"""Whoever looks on is told each change once: what processes do, what lapses, and what others write into the files."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import StoreCorrupt, WorkStaleOwnership
from metagit_mcp.ports.machine import Waits
from metagit_mcp.wire.codec import plain
from tests.scenarios.at_once import AT_ONCE, finished
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW

if TYPE_CHECKING:
    from collections.abc import Callable

    from metagit_mcp.application.news.changes import Change
    from tests.unit.application.desk import Desk

Json = dict[str, Any]
AT = "2026-12-01T12:00:00Z"
SECOND = "2026-12-01T12:00:01Z"
MINUTE = "2026-12-01T12:01:00Z"
HOSTILE = "one\ntwo\x1b[31m\u202e"
SAFE = "one two [31m"


class Enough(Exception):
    """Nothing more happens."""


def watched(desk: Desk, *steps: Callable[[], object], heard: int = 1_000) -> list[Json]:
    """What another process tells that looks on while each step happens; it is heard so many times."""
    told: list[Json] = []
    left = iter(steps)

    async def sleep(seconds: float) -> None:
        assert seconds <= 1
        step = next(left, None)
        if step is None:
            raise Enough
        step()

    def tell(change: Change) -> bool:
        told.append(plain(change))
        return len(told) < heard

    watching = desk.beside(waits=Waits(offload=AT_ONCE.offload, sleep=sleep)).application.watching
    finished(watching.begin())
    with suppress(Enough):
        finished(watching.follow(tell))
    return told


def about(node_id: str, change: str, **fields: object) -> Json:
    return {"at": AT, "change": change, "graph_id": "g", "node_id": node_id, **fields}


def test_what_agents_do_is_told_in_order(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.start("b", "before", lease_seconds=86_400)
    leases: list[str] = []

    def work() -> None:
        leases.append(desk.lease())
        desk.report(leases[0], "running", usage={"tokens": 1})
        desk.report(leases[0], "checkpointed", note="half")
        desk.report(leases[0], "failed", note=HOSTILE)

    told = watched(desk, lambda: None, work, desk.flush)
    lease: Json = {"agent_id": "w1", "lease_id": leases[0]}
    assert told == [
        about("a", "work_started", **lease),
        about("a", "work_checkpointed", **lease),
        about("a", "work_failed", **lease, until=MINUTE, note=SAFE),
    ]


def test_the_ends_of_work_are_told(desk: Desk) -> None:
    desk.put("schedule/policy.json", {"retries": {"max_attempts": 1}, "groups": {"g": {"review": True}}})
    desk.graph("g", node("a"))

    def work() -> None:
        desk.start("a", "w1", queue_only=True)
        desk.report(desk.lease(), "completed")
        desk.review("a", accept=False, note="Untested")
        late = desk.lease()
        desk.release("a", "It hangs")
        with pytest.raises(WorkStaleOwnership):
            desk.report(late, "completed", note="late")
        desk.report(desk.lease(), "failed", note="No key")
        desk.retry("a")

    assert [(each["change"], each.get("by"), each.get("note")) for each in watched(desk, work)] == [
        ("work_accepted", None, None),
        ("work_started", None, None),
        ("work_submitted", None, None),
        ("result_rejected", "ada", "Untested"),
        ("work_started", None, None),
        ("ownership_revoked", "ada", "It hangs"),
        ("evidence_kept", None, "late"),
        ("work_started", None, None),
        ("work_parked", None, "No key"),
        ("work_retried", "ada", None),
    ]


def test_a_lease_that_ends_is_told_once_whoever_writes_it(desk: Desk) -> None:
    desk.graph("g", node("a"))
    lease_id: str = desk.start("a", "w1", lease_seconds=60)["lease"]["lease_id"]
    expired = {**about("a", "lease_expired", agent_id="w1", lease_id=lease_id), "at": MINUTE}
    told = watched(desk, lambda: desk.wait(60), lambda: None, lambda: desk.pause("workspace"), desk.flush)
    assert [each["change"] for each in told] == ["lease_expired", "scheduling_paused"]
    assert told[0] == expired


def test_what_lapsed_before_is_not_told(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.start("a", "w1", lease_seconds=60)
    desk.wait(60)
    assert watched(desk, lambda: None, desk.look_after) == []


def test_what_another_program_writes_about_work_is_told_once(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.start("a", "w1")
    desk.flush()
    told = watched(
        desk,
        lambda: desk.set_row("a", status="completed", updated_at=SECOND),
        lambda: None,
        desk.look_after,
    )
    assert told == [about("a", "seen_finished", status="completed")]


def test_statuses_in_the_files_are_told_unless_they_are_our_own(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"), node("c"))
    desk.report(desk.lease(), "released")
    desk.flush()

    def spoil() -> None:
        # A file that was just written might be half of one.
        os.utime(desk.put("tasks/graphs/g.json", {"nodes": 3}), ns=(0, 0))

    told = watched(
        desk,
        lambda: desk.set_row("b", status=HOSTILE),
        lambda: desk.set_row("b", title="another"),
        lambda: desk.set_row("a", status="running", updated_at=SECOND),
        lambda: desk.graph("g", node("a", status="completed"), node("b"), node("d")),
        lambda: desk.graph("h", node("a")),
        lambda: desk.path("tasks/graphs/h.json").unlink(),
        spoil,
        lambda: desk.graph("g", node("a", status="completed"), node("b")),
        lambda: desk.graph("g", node("a", status="completed"), node("b", status="running")),
    )
    assert told == [
        about("b", "file_status", status="unknown"),
        about("a", "file_status", status="running"),
        # The older copy of `a` is none of its program's acts.
        about("b", "file_status", status="pending"),
        about("d", "file_status", status="pending"),
        {"at": AT, "change": "graph_added", "graph_id": "h"},
        {"at": AT, "change": "graph_removed", "graph_id": "h"},
        {"at": AT, "change": "graph_invalid", "graph_id": "g"},
        {"at": AT, "change": "graph_mended", "graph_id": "g"},
        about("b", "file_status", status="running"),
    ]


def test_the_rules_are_told(desk: Desk) -> None:
    desk.put("schedule/policy.json", {"resources": {"api": {"capacity": 1}}})
    desk.graph("g", node("a", uses=["api"]), node("gated", risk="destructive"))

    def rule() -> None:
        desk.approve("gated", person=HOSTILE)
        desk.pause("group", "g", reason=HOSTILE, until=NOW + timedelta(seconds=60))
        desk.resume("group", "g")
        limited = {"resource": "api", "until": MINUTE}
        desk.report(desk.lease(), "failed", note="slow", rate_limited=limited)

    told = [each for each in watched(desk, rule) if not each["change"].startswith("work_")]
    assert told == [
        about("gated", "approval_granted", by=SAFE),
        {
            "at": AT,
            "change": "scheduling_paused",
            "scope": "group",
            "name": "g",
            "by": "ada",
            "until": MINUTE,
            "note": SAFE,
        },
        {"at": AT, "change": "scheduling_resumed", "scope": "group", "name": "g", "by": "ada"},
        {"at": AT, "change": "resource_closed", "scope": "resource", "name": "api", "by": "w1", "until": MINUTE},
    ]


def test_it_ends_when_nobody_listens(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))

    def work() -> None:
        desk.lease("w1")
        desk.lease("w2")

    assert [each["agent_id"] for each in watched(desk, work, heard=1)] == ["w1"]


def test_a_ledger_that_cannot_be_read_ends_it(desk: Desk) -> None:
    desk.graph("g", node("a"))

    def spoil() -> None:
        desk.lease()
        for name in ("ledger.db-wal", "ledger.db-shm"):
            desk.path(f"schedule/{name}").unlink(missing_ok=True)
        desk.path("schedule/ledger.db").write_bytes(b"no ledger" * 1_000)

    with pytest.raises(StoreCorrupt):
        watched(desk, spoil, lambda: None)


def test_another_ledger_is_followed_from_where_it_is(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.lease("w1")

    def replace() -> None:
        for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
            desk.path(f"schedule/{name}").unlink(missing_ok=True)
        desk.beside().pause("workspace")

    told = watched(desk, replace, lambda: desk.beside().resume("workspace"))
    assert [each["change"] for each in told] == ["scheduling_resumed"]


def test_a_request_to_pause_is_told_of_the_lease_that_is_asked(desk: Desk) -> None:
    groups = {"g": {"class": "low"}, "hot": {"class": "critical"}}
    desk.put("schedule/policy.json", {"slots": 1, "groups": groups, "preemption": {"min_quantum_seconds": 0}})
    desk.graph("g", node("a", estimated_tokens=4000))
    lease_id = desk.lease("victim")
    desk.report(lease_id, "running", usage={"tokens": 4000})

    def comes() -> None:
        desk.graph("hot", node("u"))
        assert desk.taken("other") == []

    told = watched(desk, lambda: None, comes, lambda: desk.report(lease_id, "paused", note="half"))
    lease: Json = {"agent_id": "victim", "lease_id": lease_id}
    assert [each for each in told if each["change"] != "graph_added"] == [
        about("a", "preemption_requested", **lease),
        about("a", "work_paused", **lease),
    ]


def test_what_is_only_kept_for_shares_is_not_told(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))

    def runs() -> None:
        desk.set_row("b", status="running", updated_at=SECOND)
        desk.lease()
        desk.set_row("b", status="completed", updated_at=MINUTE)
        desk.taken("w2")

    told = watched(desk, lambda: None, runs)
    assert {"run_seen", "run_ended"} <= set(desk.events())
    assert [each["change"] for each in told if each["change"] != "file_status"] == ["work_started"]
