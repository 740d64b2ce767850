"""A line to a PostgreSQL server that can be cut at the very moment of a commit. It knows no ledger."""

from __future__ import annotations

import socket
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Literal, Self

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer

# What becomes of the next commit: it never gets there, it does and nobody hears of it, and nobody can be asked either.
When = Literal["never", "before", "after", "for good"]
_WAIT_S = 10


class Line:
    """Listens on a port, and hands everything on to the server until it is cut."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = str(server.socket)
        self._door = socket.create_server(("127.0.0.1", 0))
        self.cut: When = "never"
        self.url = f"postgresql://postgres:s3cret@127.0.0.1:{self._door.getsockname()[1]}/postgres"
        self._threads: list[Thread] = []
        self._begin(self._let_in)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_door()
        for thread in self._threads:
            thread.join(_WAIT_S)

    def _begin(self, work: object, *arguments: object) -> None:
        thread = Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]  # one of the methods below
        self._threads.append(thread)
        thread.start()

    def close_door(self) -> None:
        """Let nobody in any more."""
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()

    def _let_in(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                deaf = Event()
                self._begin(self._ask, client, server, deaf)
                self._begin(self._answer, client, server, deaf)

    def _ask(self, client: socket.socket, server: socket.socket, deaf: Event) -> None:
        with suppress(OSError):
            while asked := client.recv(65_536):
                if b"COMMIT;" in asked and self.cut != "never":
                    when, self.cut = self.cut, "never"
                    if when == "before":
                        break
                    deaf.set()
                    if when == "for good":
                        self.close_door()
                server.sendall(asked)
        _end(client, server)

    def _answer(self, client: socket.socket, server: socket.socket, deaf: Event) -> None:
        with client, server:
            with suppress(OSError):
                while heard := server.recv(65_536):
                    if deaf.is_set():
                        # Committed, and nobody hears of it.
                        break
                    client.sendall(heard)
            _end(client, server)


def _end(*several: socket.socket) -> None:
    for each in several:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
