"""One server for all tests that only look, or whose acts are in nobody's way; and a process as it starts one."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from tests.interfaces.http.people import People, fill, founded, tokens
from tests.interfaces.http.serving import Server
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """A server, and callers of every kind."""
    folder = tmp_path_factory.mktemp("people")
    desk = founded(folder)
    elsewhere = folder / "elsewhere"
    (elsewhere / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    secrets, token_ids = tokens(desk, Desk(elsewhere))
    fill(desk)
    with Server(desk.root, clock=desk.clock) as server:
        yield People(server, desk, secrets, token_ids)


@pytest.fixture
def as_at_the_start() -> Iterator[None]:
    """Garbage collection as the start of the program leaves it."""
    gc.disable()
    yield
    gc.unfreeze()
    gc.enable()
