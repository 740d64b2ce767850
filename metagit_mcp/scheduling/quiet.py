"""The time in which time alone changes nothing. Knows no node."""

from collections.abc import Iterable
from datetime import datetime

from metagit_mcp.domain.value import value


@value
class Quiet:
    """The time in which time alone changes nothing: from `since` to just before `until`; None is no bound."""

    since: datetime | None = None
    until: datetime | None = None

    def holds_at(self, now: datetime) -> bool:
        """Say whether `now` lies in it; a clock may go back."""
        return (self.since is None or self.since <= now) and (self.until is None or now < self.until)

    def bounds(self) -> list[datetime]:
        """Return the bounds there are."""
        return [at for at in (self.since, self.until) if at is not None]


def quiet_between(timers: Iterable[datetime], now: datetime) -> Quiet:
    """Return the time around `now` in which none of the timers lies."""
    since: datetime | None = None
    until: datetime | None = None
    for at in timers:
        if at <= now:
            if since is None or at > since:
                since = at
        elif until is None or at < until:
            until = at
    return Quiet(since=since, until=until)
