"""Bears with files that another tool is just rewriting in place; it knows nothing of what stands in them.

Such a file is read again for up to 200 ms; meanwhile the last good version stands (interfaces.md §1). A process
that has no last version waits for it, in short steps and 200 ms in all for one reading of the workspace.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

HALF_WRITTEN_NS: Final = 200_000_000
_STEP_NS: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class Draft(Generic[T_co]):
    """What one look at a file gave; `passing` says that the next look may well find something better."""

    what: T_co
    passing: bool = False


class Patience:
    """Decides how often a file is looked at; the clock and the pause can be given, so that tests do not wait."""

    def __init__(self, now: Callable[[], int] = time.time_ns, pause: Callable[[float], None] = time.sleep) -> None:
        self._now = now
        self._pause = pause
        self._left = HALF_WRITTEN_NS

    def begin(self) -> None:
        """Start one reading of the workspace: all its waits together last 200 ms at most."""
        self._left = HALF_WRITTEN_NS

    def is_young(self, mtime_ns: int) -> bool:
        """Say whether a file was written so lately that its writer may not be done."""
        return abs(self._now() - mtime_ns) < HALF_WRITTEN_NS

    def settle(self, look: Callable[[], Draft[T]], former: T | None) -> Draft[T]:
        """Return what `look` finds, or `former` while that is only passing; without a former, wait a little."""
        draft = look()
        while draft.passing and former is None and self._left > 0:
            self._left -= _STEP_NS
            self._pause(_STEP_NS / 1e9)
            draft = look()
        return Draft(former, passing=True) if draft.passing and former is not None else draft
