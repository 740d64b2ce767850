"""A caller over HTTP that sends whatever a test says, and takes down what comes back. Knows no right answer."""

from __future__ import annotations

import json
import socket
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Json = dict[str, Any]
WAIT_S: Final = 20.0
MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
JSON_TYPE: Final = {"Content-Type": "application/json"}
_TAKES: Final = {**JSON_TYPE, "Accept": "application/json, text/event-stream"}
_ENVELOPE: Final = "io.modelcontextprotocol/"


@dataclass(frozen=True)
class Answer:
    """What came back, whole."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:  # noqa: ANN401 - any JSON
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """How it ended, in a word: `ok`, the code of a refusal, or the bare status."""
        if self.status < 300:
            return "ok"
        try:
            return str(self.json["code"])
        except (ValueError, KeyError, TypeError):
            return str(self.status)


@dataclass(frozen=True)
class Caller:
    """Somebody who calls a server: where, with which token, with which further headers."""

    port: int
    secret: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def with_headers(self, **headers: str) -> Caller:
        """The same caller with more headers; `_` stands for `-`."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return replace(self, headers={**self.headers, **named})

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request over a connection of its own."""
        own = {} if self.secret is None else {"Authorization": f"Bearer {self.secret}"}
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)) as line:
            line.connect()
            # Who is refused may hear it before all was sent.
            with suppress(BrokenPipeError, ConnectionResetError):
                line.request(method, path, body, {**own, **(headers or {}), **self.headers})
            answer = line.getresponse()
            return Answer(answer.status, answer.read(), {name.lower(): text for name, text in answer.getheaders()})

    def get(self, path: str) -> Answer:
        """Look at something."""
        return self.send("GET", path)

    def post(self, path: str, document: object) -> Answer:
        """Post JSON."""
        return self.send("POST", path, json.dumps(document).encode(), JSON_TYPE)

    def rpc(self, method: str, params: Json | None = None, name: str | None = None) -> Answer:
        """Make one MCP request of 2026-07-28, and take the whole answer."""
        headers, sent = modern(method, params or {}, name)
        return self.send("POST", "/mcp", json.dumps(sent).encode(), headers)

    def tool(self, tool: str, **arguments: object) -> Outcome:
        """Call a tool."""
        return outcome(self.rpc("tools/call", {"name": tool, "arguments": arguments}, tool))

    def read(self, uri: str) -> Outcome:
        """Read a resource."""
        return outcome(self.rpc("resources/read", {"uri": uri}, uri))


def modern(method: str, params: Json, name: str | None = None, token: str | None = None) -> tuple[dict[str, str], Json]:
    """The headers and the message of a request of 2026-07-28; `token` asks to be told of progress."""
    meta: Json = {
        f"{_ENVELOPE}protocolVersion": MODERN,
        f"{_ENVELOPE}clientInfo": {"name": "caller", "version": "0"},
        f"{_ENVELOPE}clientCapabilities": {},
    }
    if token is not None:
        meta["progressToken"] = token
    headers = {**_TAKES, "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    if name is not None:
        headers["Mcp-Name"] = name
    return headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


def legacy(caller: Caller, method: str, params: Json | None = None, session: str | None = None) -> Answer:
    """Make one request of 2025-11-25; a notification where the method says so."""
    sent: Json = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    if not method.startswith("notifications/"):
        sent["id"] = 1
    headers = {**_TAKES, "MCP-Protocol-Version": LEGACY}
    if session is not None:
        headers["Mcp-Session-Id"] = session
    return caller.send("POST", "/mcp", json.dumps(sent).encode(), headers)


def legacy_session(caller: Caller) -> str | None:
    """Shake hands as in 2025-11-25; return the session, if there is one."""
    asked = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "caller", "version": "0"}}
    begun = legacy(caller, "initialize", asked)
    assert begun.status == 200, begun
    session = begun.headers.get("mcp-session-id")
    assert legacy(caller, "notifications/initialized", session=session).status == 202
    return session


@dataclass(frozen=True)
class Outcome:
    """How an MCP request ended, in a word as of an answer, and what it says."""

    code: str
    record: Json

    @property
    def text(self) -> str:
        """All that it says."""
        return json.dumps(self.record)


def outcome(answer: Answer) -> Outcome:
    """What an MCP answer says, however it is wrapped."""
    if answer.status >= 400 and not answer.body.startswith(b'{"jsonrpc"'):
        return Outcome(answer.code, {})
    (message,) = [each for each in messages(answer) if "id" in each]
    if "error" in message:
        error = message["error"]
        return Outcome(str((error.get("data") or {}).get("code", error["code"])), error)
    result = message["result"]
    if result.get("isError"):
        record = json.loads(result["content"][0]["text"])
        return Outcome(record["code"], record)
    return Outcome("ok", result.get("structuredContent", result))


def messages(answer: Answer) -> list[Json]:
    """The messages of an answer, which is JSON or a stream of events."""
    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        return [answer.json]
    return [json.loads(text) for text in data_lines(answer.body.decode())]


def data_lines(stream: str) -> Iterator[str]:
    """Yield the data of the events of a stream."""
    for row in stream.splitlines():
        if row.startswith("data:") and row[5:].strip():
            yield row[5:].strip()


def raw(port: int, sent: bytes, *, wait_s: float = WAIT_S) -> bytes:
    """Send bytes, and take all that comes until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait_s) as line:
        # As above.
        with suppress(BrokenPipeError, ConnectionResetError):
            line.sendall(sent)
        return rest_of(line)


def rest_of(line: socket.socket) -> bytes:
    """All that comes until the server closes."""
    got = bytearray()
    try:
        while part := line.recv(65_536):
            got += part
    except ConnectionResetError:
        pass
    return bytes(got)
