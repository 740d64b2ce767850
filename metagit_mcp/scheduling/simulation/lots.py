"""Whole numbers drawn by a seed, the same on every machine and in every version of Python. Knows no workload.

The generator is SplitMix64: G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators,
OOPSLA 2014, with the constants of its figure 14 and variant 13 of D. Stafford's mixing functions.
"""

from typing import Final

_MASK: Final = (1 << 64) - 1
_GAMMA: Final = 0x9E3779B97F4A7C15


class Lots:
    """One sequence of draws; sequences of one seed with different names have nothing to do with each other."""

    def __init__(self, seed: int, name: int = 0) -> None:
        """Begin the sequence `name` of the seed."""
        self._state = _mixed((_mixed(seed & _MASK) + _GAMMA * (name + 1)) & _MASK)

    def between(self, least: int, most: int) -> int:
        """Draw a number from `least` to `most`, each as likely but for one part in 2^64 by their count."""
        self._state = (self._state + _GAMMA) & _MASK
        return least + (_mixed(self._state) * (most - least + 1) >> 64)

    def around(self, middle: int, percent: int) -> int:
        """Draw a number of at most so many percent more or less; 0 percent draws nothing."""
        reach = abs(middle) * percent // 100
        return middle if reach == 0 else self.between(middle - reach, middle + reach)


def _mixed(bits: int) -> int:
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & _MASK
    return bits ^ (bits >> 31)
