"""The time and fresh ids, as the operating system gives them or as a test wants them. Knows no workspace."""

import itertools
import os
import re
import time
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from metagit_mcp.domain.instant import Instant

if TYPE_CHECKING:
    from collections.abc import Iterator

_DRAWN_AT_ONCE: Final = 64


class SystemClock:
    """Tells the system's time."""

    def __init__(self) -> None:
        """Ask for the boot when it is needed first."""
        self._boot_id: str | None = None

    def now(self) -> datetime:
        """Return the present instant in UTC."""
        return datetime.now(UTC)

    def instant(self) -> Instant:
        """Return the present instant with the milliseconds of this boot, time asleep left out."""
        if self._boot_id is None:
            self._boot_id = _boot_id()
        return Instant(wall=self.now(), boot_id=self._boot_id, ticks_ms=time.monotonic_ns() // 1_000_000)


def _boot_id() -> str:
    """Return what tells this boot from others; empty where the system does not say: the wall clock decides then."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""


class FixedClock:
    """Stands still, so that two processes answer alike."""

    def __init__(self, at: datetime) -> None:
        """Stand at `at`, an aware instant."""
        self._at = at.astimezone(UTC)

    def now(self) -> datetime:
        """Return that instant in UTC."""
        return self._at

    def instant(self) -> Instant:
        """Return that instant, at the milliseconds of a boot in 1970."""
        return Instant(wall=self._at, boot_id="fixed", ticks_ms=int(self._at.timestamp() * 1000))


class ClockFile:
    """Tells the time that a file says, so that a test moves the clock of processes that run.

    The file holds one line: an RFC 3339 instant, the milliseconds since the boot, and the boot's id.
    """

    def __init__(self, path: str) -> None:
        """Read nothing yet."""
        self._path = path
        self._told: Instant | None = None

    def now(self) -> datetime:
        """Return the instant in the file."""
        return self.instant().wall

    def instant(self) -> Instant:
        """Return what the file says; one that is just being written says what it said before."""
        with open(self._path, encoding="utf-8") as file:
            words = file.read().split()
        if words or self._told is None:
            wall, ticks_ms, boot_id = words
            at = datetime.fromisoformat(wall).astimezone(UTC)
            self._told = Instant(wall=at, boot_id=boot_id, ticks_ms=int(ticks_ms))
        return self._told


class RandomIds:
    """Draws ids from the system's random source, several at a time, since each draw is a system call."""

    def __init__(self) -> None:
        """Draw nothing yet."""
        self._drawn: Iterator[str] = iter(())

    def new(self) -> str:
        """Return 32 hexadecimal digits, never returned before; may be called from any thread."""
        drawn = next(self._drawn, None)
        if drawn is None:
            digits = os.urandom(_DRAWN_AT_ONCE * 16).hex()
            # Two threads that come here at once each draw their own; what one of them leaves behind is never used.
            fresh = iter([digits[at : at + 32] for at in range(0, len(digits), 32)])
            drawn, self._drawn = next(fresh), fresh
        return drawn


class SeededIds:
    """Gives the same sequence of ids for the same seed."""

    def __init__(self, seed: str) -> None:
        """Start the sequence of `seed`."""
        self._seed = seed
        self._numbers = itertools.count()

    def new(self) -> str:
        """Return the next 32 hexadecimal digits of the sequence."""
        return blake2b(f"{self._seed} {next(self._numbers)}".encode(), digest_size=16).hexdigest()


def new_secret() -> str:
    """Return a secret that nobody can guess: 256 random bits behind a prefix that scanners for secrets can know."""
    import secrets  # noqa: PLC0415 - only whoever issues a token needs it

    return f"mgt_{secrets.token_urlsafe(32)}"


def user_at_host() -> str:
    """Return who asks on a command line that names no agent, as an agent id: `user@host`."""
    import getpass  # noqa: PLC0415 - only a claim on the command line needs it

    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = str(os.getuid())
    name = re.sub(r"[^A-Za-z0-9_.:@-]", "-", f"{user}@{os.uname().nodename}")[:256]
    return name if name[0].isalnum() else f"u{name}"[:256]
