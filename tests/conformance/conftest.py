"""Runs every test of the suite over every kind of store."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metagit_mcp.ports.ledger import EventStore
from tests.conformance.ledgers import KINDS, Ledgers, counted_ids


@pytest.fixture(params=sorted(KINDS))
def ledgers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledgers]:
    ledgers = KINDS[request.param](tmp_path, request)
    yield ledgers
    ledgers.close()


@pytest.fixture
def store(ledgers: Ledgers) -> EventStore:
    return ledgers.opened()


@pytest.fixture
def new_id() -> Callable[[], str]:
    return counted_ids()
