"""A term ends by the ticks of its boot, whatever the wall clock is set to; after another boot by the wall clock."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from metagit_mcp.domain.instant import (
    Expiry,
    Instant,
    expiry_after,
    has_passed,
    is_earlier,
    later,
    seconds_left,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOW = Instant(wall=NOON, boot_id="one", ticks_ms=5_000)
END = expiry_after(NOW, 60)
DAY = timedelta(days=1)


def test_a_term_has_both_ends() -> None:
    assert Expiry(at=NOON + timedelta(seconds=60), boot_id="one", ticks_ms=65_000) == END


@pytest.mark.parametrize("shift", [-DAY, timedelta(), DAY])
@pytest.mark.parametrize(("ticks", "over", "left"), [(5_000, False, 60), (64_999, False, 0), (65_000, True, 0)])
def test_in_the_same_boot_the_ticks_decide(shift: timedelta, ticks: int, left: int, *, over: bool) -> None:
    now = Instant(wall=NOON + shift, boot_id="one", ticks_ms=ticks)
    assert (has_passed(END, now, NOON + shift), seconds_left(END, now)) == (over, left)


@pytest.mark.parametrize("boots", [("one", "two"), ("", ""), ("", "two"), ("one", "")])
@pytest.mark.parametrize(("seconds", "over", "left"), [(-86_400, False, 86_460), (59, False, 1), (60, True, 0)])
def test_after_another_boot_the_wall_decides(boots: tuple[str, str], seconds: int, left: int, *, over: bool) -> None:
    end = replace(END, boot_id=boots[0])
    now = Instant(wall=NOON + timedelta(seconds=seconds), boot_id=boots[1], ticks_ms=10**9)
    assert (has_passed(end, now), has_passed(end, now, NOON), seconds_left(end, now)) == (over, over, left)


def test_after_another_boot_it_is_never_earlier_than_the_last_event() -> None:
    now = Instant(wall=NOON - DAY, boot_id="two", ticks_ms=0)
    assert not has_passed(END, now, NOON + timedelta(seconds=59))
    assert has_passed(END, now, NOON + timedelta(seconds=60))


def test_an_earlier_end() -> None:
    longer = replace(END, at=END.at - DAY, ticks_ms=END.ticks_ms + 1)
    assert (is_earlier(END, longer), is_earlier(longer, END), is_earlier(END, END)) == (True, False, False)
    elsewhere = replace(longer, boot_id="two")
    assert (is_earlier(END, elsewhere), is_earlier(elsewhere, END)) == (False, True)
    assert not is_earlier(END, replace(END, boot_id="two"))


def test_no_term_ends_after_the_last_date() -> None:
    assert later(NOON, 10**12) == datetime.max.replace(tzinfo=UTC)
