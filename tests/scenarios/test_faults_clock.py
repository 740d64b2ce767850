"""The clock is set back or forward, the machine sleeps or boots again: a lease ends when its time is over, once.

The clock is a file that all processes read, so that it moves under those that run.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.attack import Server
from tests.scenarios.claiming import given, held, refused, told
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW, Desk

if TYPE_CHECKING:
    from pathlib import Path

DAY = timedelta(days=1)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(tmp_path)
    desk.graph("g", node("a"))
    return desk


@pytest.mark.parametrize("shift", [-DAY, DAY, -30 * DAY, timedelta(days=3_000)])
def test_a_clock_that_is_set_ends_no_lease_and_keeps_none(desk: Desk, shift: timedelta) -> None:
    lease_id = desk.lease()
    desk.set_clock(NOW + shift, 899_999)
    assert given(desk.beside().claim("w2")) == []
    assert desk.report(lease_id, "checkpointed", note="still mine")["lease"]["lease_id"] == lease_id
    desk.set_clock(NOW + shift, 2 * 899_999)
    assert given(desk.beside().claim("w2")) == []
    desk.set_clock(NOW + shift, 2 * 900_000)
    assert refused(lambda: desk.report(lease_id, "running")) == "WORK_LEASE_EXPIRED"
    assert desk.taken("w2") == ["a"]


@pytest.mark.parametrize("shift", [-DAY, DAY])
def test_what_is_written_back_under_a_clock_set_is_no_act_of_another(desk: Desk, shift: timedelta) -> None:
    """Each change of ours is later than the one before it, whatever the clock says."""
    lease_id = desk.lease()
    desk.flush()
    first = desk.row("a")["updated_at"]
    desk.set_clock(NOW + shift, 1_000)
    desk.report(lease_id, "released")
    desk.flush()
    second = desk.row("a")["updated_at"]
    assert (desk.statuses(), second > first) == ({"a": "ready"}, True)
    desk.set_clock(NOW, 2_000)
    live = desk.lease("w2")
    desk.flush()
    assert (desk.statuses(), desk.row("a")["updated_at"] > second) == ({"a": "running"}, True)
    # Another process reads the files and finds nothing that it did not know.
    other = desk.beside()
    assert held(other, "w2") == [("a", live)]
    other.look_after()
    assert [kind for kind in desk.events() if kind.startswith("seen_")] == []


@pytest.mark.parametrize("slept", [60, 3_600, 86_400])
def test_time_asleep_does_not_count(desk: Desk, slept: int) -> None:
    """The ticks stand still while the wall clock moves on."""
    lease_id = desk.lease()
    desk.set_clock(NOW + timedelta(seconds=slept), 0)
    assert given(desk.beside().claim("w2")) == []
    assert desk.report(lease_id, "running")["lease"]["lease_id"] == lease_id
    desk.set_clock(NOW + timedelta(seconds=slept + 900), 900_000)
    assert desk.taken("w2") == ["a"]


@pytest.mark.parametrize("ticks", [0, 5, 10_000_000])
def test_after_another_boot_the_wall_clock_decides(desk: Desk, ticks: int) -> None:
    lease_id = desk.lease()
    desk.set_clock(NOW + timedelta(seconds=899), ticks, "another")
    assert given(desk.beside().claim("w2")) == []
    assert desk.report(lease_id, "running")["lease"]["lease_id"] == lease_id
    # Renewed in this boot: from now on its ticks decide again.
    desk.set_clock(NOW + 2 * DAY, ticks + 899_999, "another")
    assert given(desk.beside().claim("w2")) == []
    desk.set_clock(NOW + 2 * DAY, ticks + 900_000, "another")
    assert desk.taken("w2") == ["a"]


def test_after_a_boot_with_a_clock_that_lost_a_day_time_stands_no_earlier_than_the_last_event(desk: Desk) -> None:
    desk.lease(lease_seconds=60)
    desk.wait(50)
    # The last event: half of the second term is over by then.
    other = desk.beside()
    other.graph("h", node("b"))
    other.lease("w2")
    desk.set_clock(NOW - DAY, 0, "another")
    assert given(desk.claim("w3")) == []
    desk.set_clock(NOW + timedelta(seconds=60), 1, "another")
    assert desk.taken("w3") == ["a"]


def test_after_a_boot_whoever_was_overdue_is_expired_once(desk: Desk) -> None:
    desk.lease()
    desk.set_clock(NOW + DAY, 7, "another")
    for name in ("w2", "w3", "w4"):
        desk.beside().claim(name)
        desk.look_after()
    assert [len(told(desk, kind)) for kind in ("lease_expired", "work_started")] == [1, 2]


def test_work_that_waits_for_its_start_and_a_retry_outlive_a_clock_that_is_set(desk: Desk) -> None:
    desk.start("a", "w1", queue_only=True)
    desk.set_clock(NOW + DAY, 3_599_999)
    assert given(desk.claim("w2")) == []
    desk.set_clock(NOW - DAY, 3_600_000)
    assert desk.taken("w2") == ["a"]


@pytest.mark.parametrize("shift", [-DAY, DAY])
def test_a_running_server_keeps_its_leases_while_the_clock_is_set(desk: Desk, shift: timedelta) -> None:
    """A real server, whose clock moves under it: it renews by ticks, and its host is there."""
    with Server(desk.root, env={"METAGIT_MCP_CLOCK": f"@{desk.clock}"}) as server:
        server.enter("2026-07-28")
        (decision,) = server.ask("schedule_next", claim=True)["decisions"]
        lease_id = decision["lease"]["lease_id"]
        for step in range(1, 4):
            desk.set_clock(NOW + shift * step, step * 400_000)
            answer = server.ask("work_report", lease_id=lease_id, state="running")
            assert answer["lease"]["lease_id"] == lease_id
        server.end()
    assert [len(told(desk, kind)) for kind in ("lease_expired", "work_released")] == [0, 1]
    assert desk.taken("w2") == ["a"]
