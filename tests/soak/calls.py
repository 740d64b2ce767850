"""Callers of a server in both eras of MCP and of its JSON beside it, over lines that can be cut.

Must not know what is right, nor import any part of the package.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from tests.soak.line import Head, Line, LineCut, events

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

Json = dict[str, Any]
Era = Literal["2026-07-28", "2025-11-25"]
MODERN: Era = "2026-07-28"
LEGACY: Era = "2025-11-25"
CLIENT = {"name": "soak", "version": "0"}
_PATH = "/mcp"
_TAKES = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_GONE = 404


@dataclass(frozen=True)
class Said:
    """What came back: `ok` with a record, or the code of a refusal; `status` is that of HTTP."""

    status: int
    code: str
    record: Json = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        return self.code == "ok"


def said_of(head: Head, body: bytes) -> Said:
    """What an answer of the JSON routes says."""
    record = json.loads(body) if body and head.headers.get("content-type", "").startswith("application/json") else {}
    if head.status < 300:
        return Said(head.status, "ok", record)
    return Said(head.status, str(record.get("code", head.status)), record)


class Web:
    """A caller of the JSON routes."""

    def __init__(self, port: int, secret: str) -> None:
        self.line = Line(port)
        self._own = {"Authorization": f"Bearer {secret}"}

    async def get(self, path: str, within_s: float = 60.0) -> Said:
        return said_of(*await self.line.ask("GET", path, self._own, within_s=within_s))

    async def post(self, path: str, document: object) -> Said:
        headers = {**self._own, "Content-Type": "application/json", "X-Metagit-Board": "1"}
        return said_of(*await self.line.ask("POST", path, headers, json.dumps(document).encode()))

    async def changes(self) -> AsyncGenerator[str, None]:
        """Yield each version that the stream of the board tells."""
        head = await self.line.begin("GET", "/v1/changes", {**self._own, "Accept": "text/event-stream"})
        if not head.is_stream:
            raise LineCut(f"no stream but {head.status}")
        async for name, data in events(self.line.parts(head)):
            if name == "change":
                yield json.loads(data)["state_version"]


class Client:
    """An MCP client. One of the older protocol opens its session when it has none, or has lost it."""

    def __init__(self, port: int, secret: str, era: Era = MODERN) -> None:
        self.line = Line(port)
        self.era = era
        self._own = {**_TAKES, "Authorization": f"Bearer {secret}"}
        self._numbers = count(1)
        self._session = ""
        self.opened = 0

    def move(self, port: int) -> None:
        """Call another server from now on; what the older protocol remembers stays behind."""
        self.line.cut()
        self.line, self._session = Line(port), ""

    async def tool(self, tool: str, **arguments: object) -> Said:
        """Call a tool of the scheduler.

        Raises:
            LineCut: whether it was carried out is not known.
        """
        return await self.call(f"metagit_{tool}", arguments)

    async def call(self, name: str, arguments: Mapping[str, object]) -> Said:
        """Call any tool; a session that the server does not know any more is opened again."""
        params = {"name": name, "arguments": arguments}
        said = await self._request("tools/call", params, name)
        if said.status != _GONE or not self._session:
            return said
        self._session = ""
        return await self._request("tools/call", params, name)

    async def listen(self, *uris: str) -> AsyncGenerator[str, None]:
        """Yield each resource that the server says has changed; an empty text first, when it listens."""
        params: Json = {"notifications": {"resourceSubscriptions": uris}, "_meta": _META}
        headers = self._headers("subscriptions/listen", None)
        head = await self.line.begin("POST", _PATH, headers, self._framed("subscriptions/listen", params))
        if not head.is_stream:
            raise LineCut(f"no stream but {head.status}")
        async for _, data in events(self.line.parts(head)):
            message = json.loads(data)
            if message.get("method", "").startswith("notifications/"):
                yield message["params"].get("uri", "")

    async def _request(self, method: str, params: Json, name: str) -> Said:
        if self.era == MODERN:
            params = {**params, "_meta": _META}
        elif not self._session:
            refused = await self._open()
            if refused is not None:
                return refused
        head, body = await self.line.ask("POST", _PATH, self._headers(method, name), self._framed(method, params))
        return await _result(head, body)

    async def _open(self) -> Said | None:
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT}
        head, body = await self.line.ask(
            "POST", _PATH, self._headers("initialize", None), self._framed("initialize", params)
        )
        if head.status >= 300:
            return said_of(head, body)
        self._session = head.headers.get("mcp-session-id", "")
        self.opened += 1
        told = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
        await self.line.ask("POST", _PATH, self._headers("notifications/initialized", None), told)
        return None

    def _headers(self, method: str, name: str | None) -> dict[str, str]:
        headers = {**self._own, "MCP-Protocol-Version": self.era}
        if self.era == MODERN:
            headers["Mcp-Method"] = method
            if name is not None:
                headers["Mcp-Name"] = name
        elif self._session:
            headers["Mcp-Session-Id"] = self._session
        return headers

    def _framed(self, method: str, params: Mapping[str, object]) -> bytes:
        request = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params}
        return json.dumps(request).encode()


async def _result(head: Head, body: bytes) -> Said:
    """The answer to a call, however it is wrapped."""
    if head.is_stream:
        messages = [json.loads(data) async for _, data in events(_once(body))]
    elif body.startswith(b'{"jsonrpc"'):
        messages = [json.loads(body)]
    else:
        return said_of(head, body)
    message = next((each for each in messages if "result" in each or "error" in each), None)
    if message is None:
        raise LineCut("a stream without an answer")
    if "error" in message:
        return Said(head.status, f"rpc{message['error']['code']}", message["error"])
    result = message["result"]
    if result.get("isError"):
        record = json.loads(result["content"][0]["text"])
        return Said(head.status, record["code"], record)
    return Said(head.status, "ok", result.get("structuredContent", result))


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body
