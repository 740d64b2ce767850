"""Tokens are issued once, looked up by their secret, and ended at every process of the ledger at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest

from metagit_mcp.application.access import TokenWish
from metagit_mcp.application.caller import Caller
from metagit_mcp.errors import AuthForbidden, InvalidInput, TokenNotFound
from metagit_mcp.wire.codec import plain
from tests.scenarios.at_once import finished

if TYPE_CHECKING:
    from metagit_mcp.domain.access import Act, Role
    from metagit_mcp.wire.access_answers import TokenIssuedAnswer
    from tests.unit.application.desk import Desk

DAY: Final = 86_400
AGENT: Final = TokenWish(subject="agent-1", role="agent")
AT: Final = "2026-12-01T12:00:00Z"
USER: Final = "Only the user of the machine may."
HERE: Final = "http://127.0.0.1:8765"


def issued(desk: Desk, wish: TokenWish = AGENT) -> TokenIssuedAnswer:
    return finished(desk.application.access.issue(wish, "eve"))


def subject(desk: Desk, secret: str) -> str | None:
    token = finished(desk.application.access.verified(secret))
    return None if token is None else token.subject


def listed(desk: Desk) -> list[tuple[str, bool]]:
    return [(each.subject, each.is_live) for each in finished(desk.application.access.listed()).tokens]


def test_a_token_is_told_once_and_its_secret_is_nowhere(desk: Desk) -> None:
    answer = issued(
        desk, TokenWish(subject="planner", role="coordinator", group_id="g", audience="https://a.b", days=2)
    )
    assert plain(answer.token) == {
        "token_id": answer.token.token_id,
        "subject": "planner",
        "role": "coordinator",
        "is_live": True,
        "issued_at": AT,
        "issued_by": "eve",
        "group_id": "g",
        "audience": "https://a.b",
        "expires_at": "2026-12-03T12:00:00Z",
    }
    assert answer.secret.startswith("mgt_")
    assert len(answer.secret) == 47
    kept = b"".join(path.read_bytes() for path in desk.root.rglob("*") if path.is_file())
    assert answer.secret.encode() not in kept


def test_a_secret_is_known_in_every_process_as_long_as_its_token_is_good(desk: Desk) -> None:
    other = desk.beside()
    lasting, short = issued(desk), issued(desk, replace(AGENT, subject="agent-2", days=1))
    assert [subject(other, each.secret) for each in (lasting, short)] == ["agent-1", "agent-2"]
    assert [subject(other, guess) for guess in ("", "mgt_", lasting.secret + "x", lasting.secret[:-1])] == [None] * 4
    desk.wait(DAY)
    assert [subject(other, each.secret) for each in (lasting, short)] == ["agent-1", None]
    assert listed(other) == [("agent-1", True), ("agent-2", False)]


def test_a_token_that_one_process_revokes_is_good_at_none(desk: Desk) -> None:
    other = desk.beside()
    answer = issued(desk)
    assert subject(other, answer.secret) == "agent-1"
    revoked = finished(desk.application.access.revoke(answer.token.token_id, "bob"))
    assert (revoked.changed, revoked.token.is_live, revoked.token.revoked_by) == (True, False, "bob")
    again = finished(other.application.access.revoke(answer.token.token_id, "carl"))
    assert (again.changed, again.token.revoked_by) == (False, "bob")
    assert [subject(each, answer.secret) for each in (desk, other)] == [None, None]
    with pytest.raises(TokenNotFound):
        finished(desk.application.access.revoke("T-0", "bob"))


def test_a_subject_with_one_live_token_names_that(desk: Desk) -> None:
    access = desk.application.access
    first, second = issued(desk), issued(desk)
    with pytest.raises(TokenNotFound) as several:
        finished(access.revoke("agent-1", "bob"))
    finished(access.revoke(first.token.token_id, "bob"))
    revoked = finished(access.revoke("agent-1", "bob"))
    assert (revoked.changed, revoked.token.token_id) == (True, second.token.token_id)
    with pytest.raises(TokenNotFound) as none:
        finished(access.revoke("agent-1", "bob"))
    hint = "metagit-mcp token list has their ids."
    assert [(each.value.message, each.value.hint) for each in (several, none)] == [
        ("2 live tokens are for agent-1: say which.", hint),
        ("No token is called agent-1, and no live one is for it.", hint),
    ]


def test_the_first_operator_is_one_however_many_servers_begin(desk: Desk) -> None:
    first = finished(desk.application.access.first_operator())
    assert first is not None
    assert (first.token.subject, first.token.role) == ("operator", "operator")
    assert finished(desk.beside().application.access.first_operator()) is None
    finished(desk.application.access.revoke(first.token.token_id, "eve"))
    # Whoever revoked the last one did so on purpose.
    assert finished(desk.application.access.first_operator()) is None


def test_whoever_starts_a_process_gets_a_token_of_its_own_for_a_day(desk: Desk) -> None:
    looks = finished(desk.application.access.own(None, HERE))
    decides = finished(desk.application.access.own("ada", HERE))
    assert [each.token.role for each in (looks, decides)] == ["viewer", "operator"]
    assert [each.token.issued_by for each in (looks, decides)] == [looks.token.subject, "ada"]
    assert [each.token.audience for each in (looks, decides)] == [HERE, HERE]
    # It is for one server: a new one still has its first operator.
    assert finished(desk.beside().application.access.first_operator()) is not None
    desk.wait(DAY)
    assert [subject(desk, each.secret) for each in (looks, decides)] == [None, None]


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"subject": ""}, "subject"),
        ({"subject": "a b"}, "subject"),
        ({"role": "coordinator"}, "group"),
        ({"group_id": "g"}, "group"),
        ({"role": "coordinator", "group_id": "../g"}, "group"),
        ({"days": 0}, "days"),
        ({"days": 3_661}, "days"),
        ({"audience": "ftp://a"}, "audience"),
        ({"audience": "https://a.b/mcp"}, "audience"),
        ({"audience": "https://x@a.b"}, "audience"),
    ],
)
def test_a_token_that_nobody_could_call_with_is_refused(desk: Desk, wish: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        issued(desk, replace(AGENT, **wish))
    assert caught.value.details["field"] == field
    assert listed(desk) == []


@pytest.mark.parametrize(
    ("role", "act", "message", "hint"),
    [
        ("viewer", "pause", "The role viewer may not pause or resume.", "A token with the role operator may."),
        (
            "coordinator",
            "look",
            "The role coordinator may not look at the whole workspace.",
            "A token with the role agent or operator or viewer may.",
        ),
        ("operator", "administer", "The role operator may not administer the workspace.", USER),
    ],
)
def test_a_role_that_may_not_is_told_what_and_who_may(role: Role, act: Act, message: str, hint: str) -> None:
    with pytest.raises(AuthForbidden) as caught:
        Caller(role=role).allow(act)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_nobody_administers_tokens_over_the_network(desk: Desk) -> None:
    operator = Caller(claims_as="ada", operator="ada", role="operator", surface="http")
    access = desk.application.speaking_for(operator).access
    for use_case in (access.issue(AGENT, "ada"), access.listed(), access.revoke("T-1", "ada")):
        with pytest.raises(AuthForbidden):
            finished(use_case)
    assert desk.events() == []
