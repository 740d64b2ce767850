"""What every test needs: one way to search for counterexamples, and nothing left over from other tests or the machine.

Of the package it knows only which files stay open.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.postgres_server import PostgresServer

# `fast` tries the same examples each time, so that red stays red; `make test PROFILE=deep` searches anew.
settings.register_profile("fast", max_examples=50, deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "deep",
    max_examples=2_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fast")

# Which lines of the core a test passes is recorded of these alone, since it makes them take twice as long: together
# they pass each line. What draws its examples or is marked `no_cover` tries many of what others try one by one.
_MEASURED = ("application", "domain", "scheduling", "wire")

# A run in the background ignores interrupts, and so would every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Each of these would choose a workspace, or its operator, behind a test's back.
for name in [name for name in os.environ if name.startswith("METAGIT_")] + ["CLAUDE_PROJECT_DIR"]:
    os.environ.pop(name, None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out of the coverage what `_MEASURED` does not name."""
    units = Path(__file__).parent / "unit"
    measured = {units / name for name in _MEASURED}
    for item in items:
        if item.path.parent not in measured or is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("no_cover")


@pytest.fixture(scope="session")
def _postgres_server() -> Iterator[PostgresServer]:
    from tests.postgres_server import running  # noqa: PLC0415 - most runs of a few tests need no server

    with running() as server:
        yield server


@pytest.fixture
def postgres(_postgres_server: PostgresServer) -> PostgresServer:
    """A PostgreSQL server, shared by the tests of a process, without a ledger."""
    _postgres_server.empty()
    return _postgres_server


@pytest.fixture(autouse=True)
def _no_connection_stays_open() -> Iterator[None]:
    """Fail whoever leaves a connection to SQLite to the collector: since Python 3.13 that warns, in any later test."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*arguments: Any, **options: Any) -> sqlite3.Connection:  # noqa: ANN401 - passed on as they are
        connection: sqlite3.Connection = connect(*arguments, **options)
        # That of a ledger, which any thread may use, lives as long as its store: some serve all tests of a file.
        if options.get("check_same_thread", True):
            opened.append(connection)
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", noted)
        yield
    left = [each for each in opened if is_open(each)]
    for each in left:
        each.close()
    assert not left, "a connection to SQLite was not closed: `with closing(sqlite3.connect(…))` does"


def is_open(connection: sqlite3.Connection) -> bool:
    """Whether nobody closed it; any thread may ask."""
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


@pytest.fixture(autouse=True)
def _no_ledger_stays_open(_no_connection_stays_open: None) -> Iterator[None]:
    """Close the ledgers that a test opened: four descriptors each, and a thousand are too many for `select`.

    It patches by itself, so that it ends after whatever the test patched is as it was.
    """
    module = sys.modules.get("metagit_mcp.adapters.sqlite.store")
    if module is None:
        yield
        return
    opened: list[Any] = []
    make = module.SqliteEventStore.__init__

    def made(store: Any, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - passed on as they are
        make(store, *arguments, **options)
        opened.append(store)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.SqliteEventStore, "__init__", made)
        yield
    for store in opened:
        store.close()
