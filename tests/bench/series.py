"""Interleaved series of timings, and what a row of the table makes of two of them.

Must not know: what is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table. `measured` is a ratio, or bytes; None with a `remark` when it could not be measured."""

    what: str
    target: float | None
    measured: float | None
    unit: str = ""
    ours: str = ""
    other: str = ""
    rounds: int = 0
    remark: str = ""

    @property
    def met(self) -> str:
        if self.target is None:
            return "no target"
        if self.measured is None:
            return f"not measured: {self.remark}"
        return "yes" if self.measured <= self.target else "no"


def interleaved(
    first: Callable[[], float], second: Callable[[], float], *, rounds: int, warm_up: int = 1
) -> tuple[list[float], list[float]]:
    """Run both in turn, `rounds` times, each going first in every other round; neighbours disturb both alike."""
    for _ in range(warm_up):
        first()
        second()
    firsts: list[float] = []
    seconds: list[float] = []
    for number in range(rounds):
        if number % 2:
            seconds.append(second())
            firsts.append(first())
        else:
            firsts.append(first())
            seconds.append(second())
    return firsts, seconds


def ratio_row(what: str, target: float | None, ours: Sequence[float], other: Sequence[float]) -> Row:
    """The ratio of the two medians, with minimum and median of each side."""
    return Row(
        what=what,
        target=target,
        measured=median(ours) / median(other),
        ours=spread(ours),
        other=spread(other),
        rounds=len(ours),
    )


def spread(seconds: Sequence[float]) -> str:
    """Minimum / median, in milliseconds."""
    return f"{min(seconds) * 1e3:.3g} / {median(seconds) * 1e3:.3g} ms"
