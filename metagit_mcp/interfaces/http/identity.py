"""Who calls: a token in the header, or in the cookie that a browser got for one. Knows no route's business.

Tokens are looked up in the ledger at each request, so that a revoked one is refused at once, by every server on it.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final

from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.auth.provider import AccessToken as Verified
from mcp.server.auth.provider import TokenVerifier
from pydantic import AnyHttpUrl
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from metagit_mcp.application.access import Access
from metagit_mcp.application.caller import Caller
from metagit_mcp.domain.access import Role
from metagit_mcp.errors import AuthForbidden, AuthRequired, MetagitError
from metagit_mcp.interfaces.http.address import Address
from metagit_mcp.interfaces.http.answers import refused

COOKIE: Final = "metagit_token"
# A header that no page of another site can send unasked: the browser would have to ask first, and is never answered.
OWN_HEADER: Final = "x-metagit-board"
MCP_PATH: Final = "/mcp"
DOCUMENT_PATH: Final = "/v1/openapi.json"
# Nothing is behind these that anybody could not know.
PUBLIC: Final = frozenset({"/", "/healthz", "/readyz", "/v1/session", DOCUMENT_PATH})
_LOOKS: Final = frozenset({"GET", "HEAD"})
_LONGEST_SECRET: Final = 200

_ANYBODY: Final[ContextVar[Caller | None]] = ContextVar("caller", default=None)
Opened = Callable[[], Awaitable[Access]]


def caller_or_none() -> Caller | None:
    """Return who makes the request that is being answered, if that is known."""
    return _ANYBODY.get()


def caller_now() -> Caller:
    """Return who makes the request that is being answered.

    Raises:
        AuthRequired: nobody that is known. Over the network nothing is done in the name of the process.
    """
    caller = _ANYBODY.get()
    if caller is None:
        raise AuthRequired(hint=_HINT)
    return caller


_HINT: Final = "Send Authorization: Bearer SECRET; metagit-mcp token issue gives one."


class LedgerTokens(TokenVerifier):
    """Looks secrets up in the ledger, as the SDK's verifier of bearer tokens."""

    def __init__(self, access: Opened, address: Address) -> None:
        """Keep the way to the ledger, and what this server is called: a token may be for one server alone."""
        self._access = access
        self._address = address

    async def verify_token(self, token: str) -> Verified | None:
        """Return what is known of a secret, or None."""
        if not 0 < len(token) <= _LONGEST_SECRET:
            return None
        known = await (await self._access()).verified(token)
        # Here, since the SDK's own check would write each time into the log that there was such a call.
        if known is None or not self._address.is_for(known.audience):
            return None
        return Verified(
            token=token,
            client_id=known.token_id,
            subject=known.subject,
            scopes=[known.role],
            resource=self._address.url,
            claims={"role": known.role, "group_id": known.group_id},
        )


class Identity:
    """An ASGI middleware that works out who calls, and turns away whoever may not be here at all."""

    def __init__(self, app: ASGIApp, access: Opened, address: Address, terms: Caller) -> None:
        """Know the server.

        Args:
            app: what comes after.
            access: gives the tokens.
            address: what this server is called; decides about audiences and about callers without a token.
            terms: what holds for every caller: what agents here can do, read-only policy, longest wait.
        """
        self._app = app
        self._address = address
        self._terms = terms
        self._tokens = LedgerTokens(access, address)
        self._bearer = BearerAuthBackend(self._tokens, resource_server_url=AnyHttpUrl(address.url))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on in the name of its caller, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            caller = await self._identify(scope)
        except MetagitError as error:
            await refused(error)(scope, receive, send)
            return
        before = _ANYBODY.set(caller)
        try:
            await self._app(scope, receive, send)
        finally:
            _ANYBODY.reset(before)

    async def _identify(self, scope: Scope) -> Caller | None:
        """Return who calls; None at what is public.

        Raises:
            AuthRequired: a token is needed here, or this one is none that is good here.
            AuthForbidden: a change by cookie that a page of another site could have asked for.
            StoreUnavailable, StoreCorrupt, StoreTooNew: nobody can tell.
        """
        conn = HTTPConnection(scope)
        path = scope["path"]
        secret = _from_cookie(conn) if path != MCP_PATH else None
        known = await self._bearer.authenticate(conn if secret is None else _with_bearer(scope, secret))
        if known is not None:
            credentials, user = known
            scope["user"], scope["auth"] = user, credentials
            if secret is not None and scope["method"] not in _LOOKS and OWN_HEADER not in conn.headers:
                raise AuthForbidden("A change by cookie needs the board's own header.", hint=f"Send {OWN_HEADER}: 1.")
            return self.caller_of(user.access_token)
        if self._address.anonymous and "authorization" not in conn.headers:
            # Also with a cookie of some other day, which its browser sends whether it is good or not.
            return self._spoken("anonymous", "viewer", "", "")
        if path in PUBLIC:
            return None
        if secret is None and "authorization" not in conn.headers:
            raise AuthRequired("The call needs a token.", hint=_HINT)
        raise AuthRequired(hint=_HINT)

    async def caller_with(self, secret: str) -> Caller | None:
        """Return who calls with this secret, or None: it is none that is good here."""
        known = await self._bearer.authenticate(_with_bearer({"type": "http", "headers": []}, secret))
        return None if known is None else self.caller_of(known[1].access_token)

    def caller_of(self, token: Verified) -> Caller:
        """Return the caller that a token stands for."""
        claims = token.claims or {}
        return self._spoken(token.subject or "", claims["role"], claims["group_id"], token.client_id)

    def _spoken(self, subject: str, role: Role, group_id: str, token_id: str) -> Caller:
        terms = self._terms
        return Caller(
            agent_id=subject if role == "agent" else "",
            claims_as=subject,
            capabilities=terms.capabilities,
            operator=subject if role == "operator" else None,
            policy_read_only=terms.policy_read_only,
            max_wait_seconds=terms.max_wait_seconds,
            surface="http",
            role=role,
            group_id=group_id,
            token_id=token_id,
        )


def _from_cookie(conn: HTTPConnection) -> str | None:
    """Return the secret in the cookie; a token in the header goes before it."""
    return None if "authorization" in conn.headers else conn.cookies.get(COOKIE)


def _with_bearer(scope: Scope, secret: str) -> HTTPConnection:
    """Return the connection as if the secret had come in the header."""
    header = (b"authorization", f"Bearer {secret}".encode("latin-1", "replace"))
    return HTTPConnection({**scope, "headers": [*scope["headers"], header]})
