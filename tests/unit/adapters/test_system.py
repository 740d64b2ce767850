"""Time and ids as the system gives them, or fixed so that two processes answer alike."""

from datetime import UTC, datetime, timedelta, timezone

from metagit_mcp.adapters.system import FixedClock, RandomIds, SeededIds, SystemClock


def test_the_system_tells_the_time_in_utc() -> None:
    before, told, after = datetime.now(UTC), SystemClock().now(), datetime.now(UTC)
    assert before <= told <= after
    assert told.tzinfo is UTC


def test_a_fixed_clock_stands_still_in_utc() -> None:
    clock = FixedClock(datetime(2026, 12, 1, 14, tzinfo=timezone(timedelta(hours=2))))
    assert [clock.now(), clock.now()] == [datetime(2026, 12, 1, 12, tzinfo=UTC)] * 2
    assert clock.now().tzinfo is UTC


def test_random_ids_are_32_digits_and_differ() -> None:
    ids = RandomIds()
    drawn = {ids.new() for _ in range(1000)}
    assert len(drawn) == 1000
    assert {len(each) for each in drawn} == {32}
    assert set("".join(drawn)) == set("0123456789abcdef")


def test_seeded_ids_repeat_with_the_seed_only() -> None:
    first, again, other = SeededIds("a"), SeededIds("a"), SeededIds("b")
    drawn = [first.new() for _ in range(100)]
    assert drawn == [again.new() for _ in range(100)]
    assert len({*drawn, *(other.new() for _ in range(100))}) == 200
    assert {len(each) for each in drawn} == {32}
