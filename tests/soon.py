"""How soon something happens, on a machine that may stand still for seconds: the best of a few tries counts.

A program that is late is late each time. One that is late now and then passes: that nothing is lost on the way is for
tests without a clock.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

# What another process did is noticed within a second (explanation/work.md).
SOON_S: Final = 1.0
_TRIES: Final = 5


class Try:
    """One of a few tries; the block in it is what takes its time."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.took = float("inf")

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self.took = time.monotonic() - self._began


def soon(seconds: float = SOON_S) -> Iterator[Try]:
    """Give tries until one has taken less than `seconds`; AssertionError where none of them has."""
    took: list[float] = []
    for number in range(_TRIES):
        yield (attempt := Try(number))
        took.append(attempt.took)
        if attempt.took < seconds:
            return
    raise AssertionError(f"never within {seconds} s: {took}")
