"""Usage is cumulative and bounded; a budget counts only the figures that it names."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.work import (
    USAGE_NAMES,
    ExecutionLease,
    Usage,
    WorkItem,
    added,
    budget_left,
    falls,
    is_exhausted,
    over_budget,
)

AT = datetime(2026, 3, 1, tzinfo=UTC)
FIGURES = st.integers(0, 1_000_000_000)
USAGES = st.builds(Usage, tokens=FIGURES, tool_calls=FIGURES, seconds=FIGURES, cost_micros=FIGURES)


@given(USAGES, USAGES)
def test_two_usages_together_hold_both_as_far_as_a_number_may_go(one: Usage, other: Usage) -> None:
    both = added(one, other)
    assert falls(one, both) is falls(other, both) is None
    for name in USAGE_NAMES:
        assert getattr(both, name) == min(1_000_000_000, getattr(one, name) + getattr(other, name))


def test_the_first_figure_that_falls() -> None:
    before = Usage(tokens=5, tool_calls=5, seconds=5)
    assert falls(before, Usage(tokens=6, tool_calls=4, seconds=4)) == "tool_calls"
    assert falls(before, before) is None


def test_a_budget_counts_what_it_names() -> None:
    budget = {"seconds": 10, "tokens": 5, "what": 0}
    used = Usage(tokens=5, seconds=4, cost_micros=7)
    assert budget_left(budget, used) == {"tokens": 0, "seconds": 6}
    assert (over_budget(budget, used), is_exhausted(budget, used)) == (None, True)
    assert over_budget(budget, Usage(tokens=5, seconds=11)) == "seconds"
    assert not is_exhausted(budget, Usage(tokens=4, seconds=9, tool_calls=99))


def test_without_a_budget_nothing_is_left_or_exceeded() -> None:
    used = Usage(tokens=1_000_000_000)
    assert (budget_left(None, used), over_budget(None, used), is_exhausted(None, used)) == ({}, None, False)


def test_item_and_lease_name_their_node() -> None:
    item = WorkItem(graph_id="g", node_id="n", state="open", changed_at=AT)
    lease = ExecutionLease(
        lease_id="L",
        graph_id="g",
        node_id="n",
        agent_id="ada",
        session_epoch=1,
        ownership_epoch=1,
        granted_at=AT,
        expiry=Expiry(at=AT),
        term_seconds=60,
    )
    assert item.key == lease.key == ("g", "n")
