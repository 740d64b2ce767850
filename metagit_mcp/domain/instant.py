"""An instant as the machine can tell it, and the end of a term that a changed clock does not move. Knows no lease.

Time asleep does not count: the ticks are those of the monotonic clock (work.md §1, Clock).
"""

from datetime import UTC, datetime, timedelta

from metagit_mcp.domain.value import value

_LAST = datetime.max.replace(tzinfo=UTC)


@value
class Instant:
    """Now: the wall clock for people, and the milliseconds of this boot for terms; an empty boot id is unknown."""

    wall: datetime
    boot_id: str = ""
    ticks_ms: int = 0


@value
class Expiry:
    """The end of a term: the wall time for people, and the milliseconds of one boot as the authority."""

    at: datetime
    boot_id: str = ""
    ticks_ms: int = 0


def expiry_after(now: Instant, seconds: int) -> Expiry:
    """Return the end of a term of so many seconds from now."""
    return Expiry(at=later(now.wall, seconds), boot_id=now.boot_id, ticks_ms=now.ticks_ms + seconds * 1000)


def later(at: datetime, seconds: int) -> datetime:
    """Return the wall time so many seconds on; the last one there is where that is past every date."""
    try:
        return at + timedelta(seconds=seconds)
    except OverflowError:
        return _LAST


def has_passed(end: Expiry, now: Instant, last_event: datetime | None = None) -> bool:
    """Say whether a term has ended.

    In the same boot its ticks decide. After another boot only the wall clock is left, which is never taken to be
    earlier than the last event.
    """
    if end.boot_id and end.boot_id == now.boot_id:
        return now.ticks_ms >= end.ticks_ms
    wall = now.wall if last_event is None else max(now.wall, last_event)
    return wall >= end.at


def seconds_left(end: Expiry, now: Instant) -> int:
    """Return the whole seconds until a term ends, at least 0."""
    if end.boot_id and end.boot_id == now.boot_id:
        return max(0, end.ticks_ms - now.ticks_ms) // 1000
    return max(0, int((end.at - now.wall).total_seconds()))


def is_earlier(end: Expiry, other: Expiry) -> bool:
    """Say whether one term ends before another, by ticks where they share a boot."""
    if end.boot_id and end.boot_id == other.boot_id:
        return end.ticks_ms < other.ticks_ms
    return end.at < other.at


def instant_text(at: datetime) -> str:
    """Return an aware instant as RFC 3339 in UTC, to the second."""
    return at.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"
