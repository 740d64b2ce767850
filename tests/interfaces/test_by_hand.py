"""A use case that never waits is driven to its end; one that would wait is ended and said to be wrong."""

from __future__ import annotations

from types import coroutine
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import InternalError
from metagit_mcp.interfaces.by_hand import at_once, finished

if TYPE_CHECKING:
    from collections.abc import Generator


def test_what_never_waits_is_driven_to_its_end() -> None:
    async def ask() -> int:
        return await at_once(lambda: 6) * await at_once(lambda: 7)

    assert finished(ask()) == 42


def test_what_would_wait_is_ended_and_refused() -> None:
    ended: list[str] = []

    @coroutine
    def wait() -> Generator[None, None, None]:
        yield

    async def ask() -> None:
        try:
            await wait()
        finally:
            ended.append("it")

    with pytest.raises(InternalError, match="no event loop"):
        finished(ask())
    assert ended == ["it"]
