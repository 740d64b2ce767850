"""EDF and FIFO on traces that are short enough to work out by hand."""

from __future__ import annotations

import pytest

from metagit_mcp.scheduling.simulation.baselines import Rule, finished_under
from tests.unit.scheduling.test_simulate_measures import job

JOBS = [
    job("a", 1, due=100, runtime=10),
    job("a", 2, runtime=10),
    job("b", 1, at=3, due=20, runtime=10),
    job("b", 2, at=3, due=20, runtime=5),
]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("fifo", {("a", "n1"): 10, ("a", "n2"): 20, ("b", "n1"): 30, ("b", "n2"): 35}),
        # Of two deadlines that are the same, the one that stands first; without a deadline last.
        ("edf", {("a", "n1"): 10, ("b", "n1"): 20, ("b", "n2"): 25, ("a", "n2"): 35}),
    ],
)
def test_one_agent(rule: Rule, expected: dict[tuple[str, str], int]) -> None:
    assert finished_under(rule, JOBS, 1, 1, None) == expected


def test_slots_without_agents_are_of_no_use() -> None:
    assert finished_under("fifo", JOBS, 9, 1, None) == finished_under("fifo", JOBS, 1, 1, None)
    assert finished_under("fifo", JOBS, 1, 9, None) == finished_under("fifo", JOBS, 1, 1, None)
    assert finished_under("fifo", JOBS, 2, 2, None) == {
        ("a", "n1"): 10,
        ("a", "n2"): 10,
        ("b", "n1"): 20,
        ("b", "n2"): 15,
    }


def test_nothing_overtakes_a_wide_node() -> None:
    jobs = [job("a", 1, runtime=10), job("a", 2, slots=2, runtime=10), job("a", 3, runtime=1)]
    assert finished_under("fifo", jobs, 2, 2, None) == {("a", "n1"): 10, ("a", "n2"): 20, ("a", "n3"): 21}


def test_what_ends_after_the_cut_is_not_done() -> None:
    assert finished_under("fifo", JOBS, 1, 1, 20) == {("a", "n1"): 10, ("a", "n2"): 20}
    assert finished_under("fifo", JOBS, 1, 1, 19) == {("a", "n1"): 10}
    assert finished_under("fifo", [job("a", 1, at=5)], 1, 1, 5) == {}
