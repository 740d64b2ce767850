"""Roles, and how long a token is good: data that the interfaces rest on."""

from datetime import UTC, datetime, timedelta
from typing import get_args

from metagit_mcp.domain.access import ACTS, AccessToken, Act, Role, digest_of, is_allowed
from metagit_mcp.domain.access_events import TokenIssued, TokenRevoked
from metagit_mcp.domain.evolve import evolve
from metagit_mcp.domain.state import LedgerState

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
TOKEN = AccessToken(token_id="T-1", digest="d", subject="ada", role="agent", issued_at=NOON, issued_by="eve")


def test_every_act_says_whose_it_is_and_no_role_is_unknown() -> None:
    assert set(ACTS) == set(get_args(Act))
    assert set().union(*(roles for _, roles in ACTS.values())) == set(get_args(Role))


def test_what_each_role_may() -> None:
    allowed = {role: [act for act in ACTS if is_allowed(role, act)] for role in get_args(Role)}
    assert allowed == {
        "viewer": ["look", "look_at_group"],
        "agent": ["look", "look_at_group", "advise", "take_work", "plan_work", "set_order"],
        "coordinator": ["look_at_group", "plan_work", "feed_group"],
        "operator": [act for act in ACTS if act != "administer"],
    }


def test_a_token_is_good_until_it_is_over_or_revoked() -> None:
    ends = AccessToken(
        token_id="T-2",
        digest="e",
        subject="ada",
        role="viewer",
        issued_at=NOON,
        issued_by="eve",
        expires_at=NOON + timedelta(days=1),
    )
    just_before = NOON + timedelta(days=1, microseconds=-1)
    assert [ends.is_live(at) for at in (NOON, just_before, NOON + timedelta(days=1))] == [True, True, False]
    assert TOKEN.is_live(NOON + timedelta(days=10_000))


def test_the_fold_keeps_tokens_and_that_they_were_revoked() -> None:
    state = LedgerState()
    assert evolve(state, TokenIssued(at=NOON, token=TOKEN)) is None
    before = state.branch()
    later = NOON + timedelta(hours=1)
    assert evolve(state, TokenRevoked(at=later, token_id="T-1", by="bob")) is None
    (token,) = state.tokens.values()
    assert (token.revoked_at, token.revoked_by, token.is_live(later)) == (later, "bob", False)
    assert before.tokens == {"T-1": TOKEN}
    # Nothing can be started that could not be before.
    assert state.version == 0


def test_a_digest_says_nothing_of_its_secret_and_takes_any_text() -> None:
    assert digest_of("mgt_x") == "a5d835f9bcae20824cec4565be937c1179fc34469b34029d65c0626a2ff2f653"
    assert len(digest_of("\ud800")) == 64
