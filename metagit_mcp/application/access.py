"""Tokens of callers over the network: issued, listed, revoked, and looked up at every call. Draws no secret itself.

They are events of the ledger, so that a token is good at every server on it, and revoked at all of them at once.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.turn import Turn
from metagit_mcp.domain.access import AccessToken, Role, digest_of
from metagit_mcp.domain.access_events import TokenIssued, TokenRevoked
from metagit_mcp.domain.text import is_agent_id, is_any_id, shown
from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput, TokenNotFound
from metagit_mcp.ports.machine import Clock
from metagit_mcp.ports.workspace import Warnings
from metagit_mcp.wire.access_answers import TokenIssuedAnswer, TokenRecord, TokenRevokedAnswer, TokensAnswer

OPERATOR: Final = "operator"
_LONGEST_LIFE_DAYS: Final = 3_660
# With a path, such as that of MCP, it would be for no server.
_SERVER: Final = re.compile(r"https?://[^/?#@\s]+/?", re.IGNORECASE)


@value
class TokenWish:
    """What a token is to be: for whom, as what, for how long, and for which server."""

    subject: str
    role: Role
    group_id: str = ""
    audience: str = ""
    days: int | None = None


class Access:
    """The use cases of `token`, and of the server that asks who calls."""

    def __init__(self, current: Current, clock: Clock, new_secret: Callable[[], str], caller: Caller) -> None:
        """Keep the collaborators."""
        self._current = current
        self._clock = clock
        self._new_secret = new_secret
        self._caller = caller
        # The ids of these tokens by digest, as long as there are as many of them.
        self._ids: dict[str, str] = {}
        self._indexed: Mapping[str, AccessToken] = {}

    async def issue(self, wish: TokenWish, by: str) -> TokenIssuedAnswer:
        """Issue a token; its secret is in the answer, and nowhere else.

        Raises:
            InvalidInput: nobody could call with such a token.
            ReadOnlyWorkspace, StoreUnavailable, StoreCorrupt: it cannot be recorded.
        """
        self._caller.allow("administer")
        _refuse_unusable(wish)
        secret = self._new_secret()
        token, warnings = await self._current.command(lambda turn: _issued(turn, wish, secret, by))
        return _told(token, secret, warnings)

    async def own(self, decider: str | None, url: str) -> TokenIssuedAnswer:
        """Issue a token to whoever started this process, for this server and a day: an operator's if somebody vouches.

        Raises:
            ReadOnlyWorkspace, StoreUnavailable, StoreCorrupt: it cannot be recorded.
        """
        name = self._caller.claims_as
        role: Role = "viewer" if decider is None else "operator"
        return await self.issue(TokenWish(subject=name, role=role, audience=url, days=1), decider or name)

    async def first_operator(self) -> TokenIssuedAnswer | None:
        """Issue the one token that a new server prints; None where there was a lasting one before.

        Raises:
            ReadOnlyWorkspace, StoreUnavailable, StoreCorrupt: it cannot be recorded.
        """
        secret, wish = self._new_secret(), TokenWish(subject=OPERATOR, role="operator")
        if _any_lasting(await self._known()):
            return None
        # Another server may do the same just now.
        token, warnings = await self._current.command(
            lambda turn: (
                None if _any_lasting(turn.state.tokens) else _issued(turn, wish, secret, self._caller.claims_as)
            )
        )
        return None if token is None else _told(token, secret, warnings)

    async def listed(self) -> TokensAnswer:
        """Return every token that was issued, without its secret.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read.
        """
        self._caller.allow("administer")
        tokens, now = await self._known(), self._clock.now()
        ordered = sorted(tokens.values(), key=lambda each: (not each.is_live(now), each.issued_at, each.token_id))
        return TokensAnswer(
            tokens=tuple(_record(each, now) for each in ordered),
            warnings=(),
            next_step="metagit-mcp token revoke TOKEN ends one."
            if ordered
            else "metagit-mcp token issue SUBJECT --role ROLE makes one.",
        )

    async def revoke(self, named: str, by: str) -> TokenRevokedAnswer:
        """Let a token be good no more, at every server; one that was revoked before stays so.

        It is named by its id, or by its subject where that has one live token alone.

        Raises:
            TokenNotFound: none has this id, and not exactly one live token this subject.
            ReadOnlyWorkspace, StoreUnavailable, StoreCorrupt: it cannot be recorded.
        """
        self._caller.allow("administer")
        (token, changed), warnings = await self._current.command(lambda turn: _revoked(turn, named, by))
        return TokenRevokedAnswer(
            token=_record(token, token.revoked_at or token.issued_at),
            changed=changed,
            warnings=warnings,
            next_step="Whoever calls with it is refused from now on.",
        )

    async def verified(self, secret: str) -> AccessToken | None:
        """Return the token of a secret, if it is live.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read, and nobody knows who calls.
        """
        tokens = await self._known()
        if tokens is not self._indexed or len(tokens) != len(self._ids):
            self._ids, self._indexed = {each.digest: each.token_id for each in tokens.values()}, tokens
        token = tokens.get(self._ids.get(digest_of(secret), ""))
        return token if token is not None and token.is_live(self._clock.now()) else None

    async def _known(self) -> Mapping[str, AccessToken]:
        await self._current.image()
        return self._current.state.tokens


def _any_lasting(tokens: Mapping[str, AccessToken]) -> bool:
    """Say whether anybody has, or had, a token that was not made for one server, as those of a board are."""
    return any(not each.audience for each in tokens.values())


def _refuse_unusable(wish: TokenWish) -> None:
    """Refuse a token that names nobody, or nothing that could be.

    Raises:
        InvalidInput: says which field is wrong.
    """
    if not is_agent_id(wish.subject):
        raise InvalidInput("subject: must be an agent id, such as agent-1 or ada@laptop", field="subject")
    if (wish.role == "coordinator") != bool(wish.group_id):
        raise InvalidInput("group: a coordinator, and nobody else, has one Group", field="group")
    if wish.group_id and not is_any_id(wish.group_id):
        raise InvalidInput("group: no Group could have this id", field="group")
    if wish.days is not None and not 1 <= wish.days <= _LONGEST_LIFE_DAYS:
        raise InvalidInput(f"days: must be 1 to {_LONGEST_LIFE_DAYS}", field="days")
    if wish.audience and not _SERVER.fullmatch(wish.audience):
        raise InvalidInput("audience: must be the URL of a server, without a path", field="audience")


def _issued(turn: Turn, wish: TokenWish, secret: str, by: str) -> AccessToken:
    now, digest = turn.instant.wall, digest_of(secret)
    token = AccessToken(
        token_id=f"T-{digest[:12]}",
        digest=digest,
        subject=wish.subject,
        role=wish.role,
        issued_at=now,
        issued_by=by,
        group_id=wish.group_id,
        audience=wish.audience,
        expires_at=None if wish.days is None else now + timedelta(days=wish.days),
    )
    turn.happen([TokenIssued(at=now, token=token)])
    return token


def _told(token: AccessToken, secret: str, warnings: Warnings) -> TokenIssuedAnswer:
    return TokenIssuedAnswer(
        token=_record(token, token.issued_at),
        secret=secret,
        warnings=warnings,
        next_step="Keep the secret now: it is not shown again. Callers send it as Authorization: Bearer SECRET.",
    )


def _revoked(turn: Turn, named: str, by: str) -> tuple[AccessToken, bool]:
    token = _meant(turn, named)
    if token.revoked_at is not None:
        return token, False
    turn.happen([TokenRevoked(at=turn.instant.wall, token_id=token.token_id, by=by)])
    return turn.state.tokens[token.token_id], True


def _meant(turn: Turn, named: str) -> AccessToken:
    if named in turn.state.tokens:
        return turn.state.tokens[named]
    own = [each for each in turn.state.tokens.values() if each.subject == named and each.is_live(turn.instant.wall)]
    if len(own) == 1:
        return own[0]
    many = f"{len(own)} live tokens are for {shown(named)}: say which."
    raise TokenNotFound(
        many if own else f"No token is called {shown(named)}, and no live one is for it.",
        hint="metagit-mcp token list has their ids.",
        token_id=shown(named),
    )


def _record(token: AccessToken, now: datetime) -> TokenRecord:
    return TokenRecord(
        token_id=token.token_id,
        subject=token.subject,
        role=token.role,
        is_live=token.is_live(now),
        issued_at=token.issued_at,
        issued_by=shown(token.issued_by),
        group_id=token.group_id or None,
        audience=token.audience or None,
        expires_at=token.expires_at,
        revoked_at=token.revoked_at,
        revoked_by=shown(token.revoked_by) or None,
    )
