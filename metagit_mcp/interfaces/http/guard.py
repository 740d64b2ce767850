"""Stands before every route: names of the server, size and pace of a request, headers of an answer. Knows no route.

Pure ASGI: a middleware that reads bodies into memory would end streams.
"""

from typing import Final

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.http.address import Address
from metagit_mcp.interfaces.http.answers import refusal

# What a delivery of Events may have (work.md §6), with its frame.
MOST_BYTES: Final = 9 * 1024 * 1024
# A request that comes more slowly than this is there to keep others out.
BODY_WITHIN_S: Final = 30.0
_ALWAYS: Final = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
)
_MISDIRECTED: Final = 421
_FORBIDDEN: Final = 403
_TOO_LARGE: Final = 413
_TOO_SLOW: Final = 408

Refused = tuple[int, InvalidInput]


class Guard:
    """An ASGI middleware that lets only those requests through that are meant for this server."""

    def __init__(self, app: ASGIApp, address: Address, *, body_within_s: float = BODY_WITHIN_S) -> None:
        """Keep the names; the port is known by now."""
        self._app = app
        self._names, self._pages = address.names(), address.pages()
        self._body_within_s = body_within_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passage = _Passage(scope, receive, send, self._body_within_s)
        refused = self._refused(Headers(scope=scope))
        if refused is not None:
            await passage.refuse(refused)
            return
        try:
            await self._app(scope, passage.receive, passage.send)
        except ClientDisconnect:
            # It went before it had asked: nobody is left to be told.
            return
        except Exception:
            # Whoever was refused in the middle of its request is told so; that its handler failed then is no news.
            if not passage.is_refused:
                raise

    def _refused(self, headers: Headers) -> Refused | None:
        """Return why a request is not for this server, or too large, or None."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._names:
            hint = "Start the server with --allow-host for each name that it is called by."
            return _MISDIRECTED, InvalidInput("This server has another name.", hint=hint, field="host")
        if any(origin.lower() not in self._pages for origin in origins):
            hint = "Start the server with --allow-origin for each page that may call it."
            return _FORBIDDEN, InvalidInput("A page of another site may not call.", hint=hint, field="origin")
        length = headers.get("content-length", "0")
        return _too_large() if not length.isdecimal() or int(length) > MOST_BYTES else None


def _too_large() -> Refused:
    hint = "Deliver in several calls."
    return _TOO_LARGE, InvalidInput(f"A request has at most {MOST_BYTES} bytes.", hint=hint)


def _too_slow() -> Refused:
    return _TOO_SLOW, InvalidInput("The request came too slowly.", hint="Send it at once.")


class _Passage:
    """One request on its way: counts what comes in and does not wait for it for ever, adds headers to what goes out."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, within_s: float) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._until = anyio.current_time() + within_s
        self._left = MOST_BYTES
        self._is_whole = False
        self._has_answer = False
        self.is_refused = False

    async def receive(self) -> Message:
        """Return what comes next; a request that was refused is over for its handler."""
        if self._is_whole:
            return await self._receive()
        message: Message | None = None
        with anyio.move_on_after(max(0, self._until - anyio.current_time())):
            message = await self._receive()
        if message is None:
            return await self._broken_off(_too_slow())
        self._left -= len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        return await self._broken_off(_too_large()) if self._left < 0 else message

    async def _broken_off(self, refused: Refused) -> Message:
        await self.refuse(refused)
        return {"type": "http.disconnect"}

    async def refuse(self, refused: Refused) -> None:
        """Answer in the handler's place, unless it has begun to."""
        if not self._has_answer:
            await refusal(*refused)(self._scope, self._receive, self.send)
        self.is_refused = True

    async def send(self, message: Message) -> None:
        """Send what a handler answers."""
        if self.is_refused:
            return
        if message["type"] == "http.response.start":
            self._has_answer = True
            headers = MutableHeaders(scope=message)
            for name, text in _ALWAYS:
                headers.setdefault(name, text)
        await self._send(message)
