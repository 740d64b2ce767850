"""Streams of a server as a caller without a library reads them. Must not know what they should say."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any, Self

from tests.interfaces.http.calling import WAIT_S, modern, rest_of

if TYPE_CHECKING:
    from tests.interfaces.http.calling import Caller

Json = dict[str, Any]


class Stream:
    """One connection on which a server goes on telling."""

    def __init__(self, caller: Caller, head: str, body: bytes = b"") -> None:
        self.line = socket.create_connection(("127.0.0.1", caller.port), timeout=WAIT_S)
        named = f"{head} HTTP/1.1\r\nHost: 127.0.0.1:{caller.port}\r\nAuthorization: Bearer {caller.secret}\r\n"
        told = "".join(f"{name}: {text}\r\n" for name, text in caller.headers.items())
        self.line.sendall(f"{named}{told}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self.got = ""

    @classmethod
    def changes(cls, caller: Caller) -> Stream:
        """What the board hears."""
        return cls(caller, "GET /v1/changes")

    @classmethod
    def asking(
        cls, caller: Caller, method: str, params: Json, name: str | None = None, token: str | None = None
    ) -> Stream:
        """A request of 2026-07-28 that is not answered at once."""
        headers, sent = modern(method, params, name, token)
        return cls(caller.with_headers(**headers), "POST /mcp", json.dumps(sent).encode())

    @classmethod
    def listening(cls, caller: Caller, *uris: str) -> Stream:
        """What a host hears that subscribed to resources."""
        return cls.asking(caller, "subscriptions/listen", {"notifications": {"resourceSubscriptions": list(uris)}})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()

    def until(self, text: str) -> str:
        """Read on until this was said."""
        while text not in self.got:
            part = self.line.recv(65_536)
            assert part, self.got
            self.got += part.decode()
        return self.got

    def rest(self) -> str:
        """All that comes until the stream is at its end."""
        while not self.got.endswith("0\r\n\r\n"):
            part = self.line.recv(65_536)
            if not part:
                break
            self.got += part.decode()
        return self.got

    def cut(self) -> str:
        """All that comes until the server closes."""
        return self.got + rest_of(self.line).decode()
