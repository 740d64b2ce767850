"""I1 to I9 of scheduling.md §4 and the guard's bound: the queue beside an oracle, in runs drawn from a seed.

`python -m tests.fairness` makes more and longer ones; each names the seed with which it failed.
"""

from __future__ import annotations

import pytest

from tests.fairness.runs import run

RUNS = 24
STEPS = 180


@pytest.mark.parametrize("seed", range(RUNS))
def test_every_pick_and_every_tag_is_the_oracles_and_no_bound_is_passed(seed: int) -> None:
    """In each run the oracle is compared at every step; `run` says when anything else is looked at."""
    seen = run(seed, STEPS)
    assert seen.steps == STEPS
    assert seen.starts > 0
