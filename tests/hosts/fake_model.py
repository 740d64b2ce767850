"""A model's HTTP service on loopback whose replies a function gives: what all such services have in common.

Must not know: how any of them writes its requests and replies, nor who asks.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# A client that goes round in circles is told that it cannot go on, before its test is out of time.
MOST_REQUESTS = 60
_READ_SECONDS = 60

Event = dict[str, Any]


@dataclass(frozen=True)
class Use:
    """A reply's wish to use a tool."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


Part = str | Use
# What a script returns: a text, a tool to be used, or several of both.
Reply: TypeAlias = "Part | Sequence[Part]"


@dataclass(frozen=True)
class Got:
    """The result of a tool as the model is shown it."""

    text: str
    is_error: bool = False

    def json(self) -> Any:  # noqa: ANN401 - the answer of any tool
        """The JSON object in the text; clients write words of their own before and after it."""
        return json.JSONDecoder().raw_decode(self.text, self.text.index("{"))[0]


def parts(reply: Reply) -> list[Part]:
    """A script's reply as a list."""
    return [reply] if isinstance(reply, str | Use) else list(reply)


def event_stream(events: Sequence[Event]) -> bytes:
    """Server-sent events, each named by its type."""
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


@dataclass(frozen=True)
class Sent:
    """What goes back over HTTP."""

    body: bytes
    kind: str = "application/json"
    status: int = 200


def as_json(answer: Any, status: int = 200) -> Sent:  # noqa: ANN401 - any JSON
    """An answer of JSON."""
    return Sent(json.dumps(answer).encode(), status=status)


@contextmanager
def serving(answer: Callable[[str, str, dict[str, Any]], Sent]) -> Iterator[str]:
    """Serve on a free port of loopback until the block ends, which fails if `answer` did; yields the address.

    Args:
        answer: takes method, path without query, and the request's JSON object ({} where it has none). It is called by
            one thread at a time, for each request in the order in which they come.
    """
    failures: list[Exception] = []
    turn = threading.Lock()

    class Handler(_Handler):
        pass

    def answered(method: str, path: str, body: dict[str, Any]) -> Sent:
        with turn:
            try:
                return answer(method, path, body)
            except Exception as error:  # noqa: BLE001 - it is raised where the test is
                failures.append(error)
                return as_json(
                    {"type": "error", "error": {"type": "invalid_request_error", "message": str(error)}}, 400
                )

    Handler.answered = staticmethod(answered)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        # What failed here comes before what failed because of it.
        if failures:
            raise failures[0]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _READ_SECONDS
    answered: ClassVar[Callable[[str, str, dict[str, Any]], Sent]]

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        """Say nothing: whoever wants to know looks at what was recorded."""

    def handle(self) -> None:
        """Answer until the client goes; it may go in the middle of an answer, when a person stops it."""
        with suppress(ConnectionError):
            super().handle()

    def _answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw else {}
        sent = type(self).answered(self.command, self.path.partition("?")[0], body)
        self.send_response(sent.status)
        self.send_header("Content-Type", sent.kind)
        self.send_header("Content-Length", str(len(sent.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(sent.body)
