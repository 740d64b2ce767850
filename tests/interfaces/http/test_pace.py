"""A server over HTTP answers without delay, and keeps nothing of what it answered."""

from __future__ import annotations

import gc
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.interfaces.http.address import Address, read_address
from metagit_mcp.interfaces.http.serve import Start, run
from metagit_mcp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from metagit_mcp.bootstrap import Application


class Enough(Exception):
    """The server is about to listen; nothing more is asked of it."""


@pytest.mark.usefixtures("as_at_the_start")
def test_a_server_looks_for_garbage_and_does_not_wait_for_acknowledgements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call leaves kilobytes in circles; and an answer in two pieces would wait 40 ms for the client."""
    listeners: list[socket.socket] = []
    seen: list[tuple[bool, int]] = []
    create = socket.create_server

    def created(*arguments: Any, **options: Any) -> socket.socket:  # noqa: ANN401 - passed on untouched
        listeners.append(create(*arguments, **options))
        return listeners[-1]

    @asynccontextmanager
    async def opened(application: Application, _: Address) -> AsyncIterator[None]:
        seen.append((gc.isenabled(), listeners[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        application.close()
        if seen:
            raise Enough
        yield

    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    monkeypatch.setattr(socket, "create_server", created)
    with pytest.raises(Enough):
        run(Settings(workspace=str(tmp_path), watch="stat"), read_address("127.0.0.1:0"), Start(opened=opened))
    assert seen == [(True, 1)]
