"""The ids of what a Group is asked for: each its own, and none that tells what it follows from."""

from __future__ import annotations

from metagit_mcp.domain.outbox import action_id

LEASE = "L-7K2MZQ4DHX5A"


def test_an_action_id_says_what_is_asked_for_and_not_under_which_lease() -> None:
    assert action_id("work.start", LEASE).startswith("start:")
    assert action_id("schedule.estimate", "n", "1").startswith("estimate:")
    assert LEASE not in action_id("work.start", LEASE)


def test_what_follows_from_something_else_has_another_id() -> None:
    ids = [
        action_id("work.start", "a", "bc"),
        action_id("work.start", "ab", "c"),
        action_id("work.start", "a"),
        action_id("work.submit", "a"),
        action_id("work.accept_offer", "n", "one", "1", "5"),
        action_id("work.accept_offer", "n", "two", "1", "5"),
    ]
    assert len(set(ids)) == len(ids)
    assert action_id("work.start", "a", "bc") == ids[0]
