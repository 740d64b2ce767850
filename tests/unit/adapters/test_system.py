"""Time and ids as the system gives them, or fixed so that two processes answer alike."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from metagit_mcp.adapters import system
from metagit_mcp.adapters.system import ClockFile, FixedClock, RandomIds, SeededIds, SystemClock, user_at_host
from metagit_mcp.domain.instant import Instant
from metagit_mcp.settings import settings_from


def test_the_system_tells_the_time_in_utc() -> None:
    before, told, after = datetime.now(UTC), SystemClock().now(), datetime.now(UTC)
    assert before <= told <= after
    assert told.tzinfo is UTC


def test_a_fixed_clock_stands_still_in_utc() -> None:
    clock = FixedClock(datetime(2026, 12, 1, 14, tzinfo=timezone(timedelta(hours=2))))
    assert [clock.now(), clock.now()] == [datetime(2026, 12, 1, 12, tzinfo=UTC)] * 2
    assert clock.now().tzinfo is UTC


def test_an_instant_has_the_milliseconds_of_this_boot() -> None:
    clock = SystemClock()
    first, second = clock.instant(), clock.instant()
    assert first.boot_id == second.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert first.ticks_ms <= second.ticks_ms < first.ticks_ms + 60_000
    assert abs(first.wall - datetime.now(UTC)) < timedelta(minutes=1)
    # Every process of this boot counts the same.
    assert abs(SystemClock().instant().ticks_ms - first.ticks_ms) < 60_000


def test_without_a_boot_id_the_wall_clock_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> object:
        raise FileNotFoundError

    monkeypatch.setattr(system, "open", refuse, raising=False)
    assert SystemClock().instant().boot_id == ""


def test_a_fixed_instant_stands_still() -> None:
    clock = FixedClock(datetime(1970, 1, 1, 0, 1, tzinfo=UTC))
    assert clock.instant() == Instant(wall=datetime(1970, 1, 1, 0, 1, tzinfo=UTC), boot_id="fixed", ticks_ms=60_000)


def test_a_file_moves_the_clock_of_whoever_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "clock"
    clock = ClockFile(str(file))
    for hour in (14, 15):
        file.write_text(f"2026-12-01T{hour}:00:00+02:00 {hour} boot-{hour}\n")
        wall = datetime(2026, 12, 1, hour - 2, tzinfo=UTC)
        assert clock.instant() == Instant(wall=wall, boot_id=f"boot-{hour}", ticks_ms=hour)
        assert (clock.now(), clock.now().tzinfo) == (wall, UTC)
    # Whoever writes it may have emptied it just now.
    file.write_text("")
    assert clock.instant().boot_id == "boot-15"


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


def named(monkeypatch: pytest.MonkeyPatch, user: str | None, host: str) -> str:
    """Who asks as this user on this host; None: the system knows no name."""

    def getuser() -> str:
        if user is None:
            raise KeyError
        return user

    class Uname:
        nodename = host

    monkeypatch.setattr("getpass.getuser", getuser)
    monkeypatch.setattr("os.uname", Uname)
    monkeypatch.setattr("os.getuid", lambda: 1000)
    return user_at_host()


@pytest.mark.parametrize(
    ("user", "host", "name"),
    [
        ("ada", "box", "ada@box"),
        (None, "box", "1000@box"),
        ("Ada Lovelace", "box.local", "Ada-Lovelace@box.local"),
        ("-x", "b", "u-x@b"),
        ("ad/a", "é", "ad-a@-"),
    ],
)
def test_who_asks_on_a_command_line_is_the_user(
    monkeypatch: pytest.MonkeyPatch, user: str | None, host: str, name: str
) -> None:
    assert named(monkeypatch, user, host) == name
    assert settings_from({}, agent_id=name).agent_id == name


def test_a_long_name_is_cut_to_what_an_agent_id_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for user in ("a" * 300, "-" * 300):
        assert settings_from({}, agent_id=named(monkeypatch, user, "b" * 300)).agent_id != ""
