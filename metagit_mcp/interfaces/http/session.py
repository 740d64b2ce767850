"""A browser's session: a token posted once becomes a cookie that scripts cannot read. Keeps nothing itself."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metagit_mcp.application.caller import Caller
from metagit_mcp.domain.access import ACTS
from metagit_mcp.errors import AuthRequired, MetagitError
from metagit_mcp.interfaces.http.address import Address
from metagit_mcp.interfaces.http.answers import answered, refused
from metagit_mcp.interfaces.http.identity import COOKIE, caller_or_none
from metagit_mcp.interfaces.http.reading import body_of
from metagit_mcp.wire.access_answers import WhoAnswer
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.person_requests import SessionRequest

# As long as a browser keeps it; the token may end before.
_SECONDS: Final = 30 * 24 * 3600
Verify = Callable[[str], Awaitable[Caller | None]]


def session_routes(verify: Verify, address: Address) -> list[Route]:
    """Return the route at which a browser's session begins, is shown and ends."""

    async def begin(request: Request) -> Response:
        try:
            secret = parse_request(SessionRequest, await body_of(request)).token
            caller = await verify(secret)
            if caller is None:
                raise AuthRequired(hint="metagit-mcp token issue gives one.")
        except MetagitError as error:
            return refused(error)
        response = answered(who(caller))
        response.set_cookie(
            COOKIE, secret, max_age=_SECONDS, path="/", secure=address.is_secure, httponly=True, samesite="strict"
        )
        return response

    async def show(_: Request) -> Response:
        return answered(who(caller_or_none()))

    async def end(_: Request) -> Response:
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, path="/", secure=address.is_secure, httponly=True, samesite="strict")
        return response

    answering = {"POST": begin, "DELETE": end}

    async def answer(request: Request) -> Response:
        return await answering.get(request.method, show)(request)

    # One route, so that whoever comes with another method is told all three.
    return [Route("/v1/session", answer, methods=["GET", "POST", "DELETE"])]


def who(caller: Caller | None) -> WhoAnswer:
    """Return who calls, and what it may do."""
    if caller is None:
        return WhoAnswer(signed_in=False)
    return WhoAnswer(
        signed_in=True,
        subject=caller.claims_as,
        role=caller.role,
        group_id=caller.group_id or None,
        acts=tuple(act for act in ACTS if caller.may(act)),
    )
