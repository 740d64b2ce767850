"""One connection to a PostgreSQL server: runs named statements. It knows no ledger.

Every error of psycopg ends here and leaves as one of the project's own.
"""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import PipelineStatus, TransactionStatus

from metagit_mcp.adapters.postgres.address import public_name
from metagit_mcp.adapters.postgres.failures import cut, ledger_error, unreachable
from metagit_mcp.adapters.postgres.statements import statement
from metagit_mcp.errors import MetagitError

Rows = list[tuple[Any, ...]]
Values = dict[str, Any]
Asked = tuple[str, Values]

# A host that vanishes must be noticed, by its server too. What the address says itself stands.
_PATIENCE: Final[dict[str, Any]] = {
    "application_name": "metagit-mcp",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
_IDLE_SECONDS: Final = 30.0
# What the driver says of a cut connection would stand between the lines of whoever is told by an error anyway.
logging.getLogger("psycopg").setLevel(logging.CRITICAL)
_OPEN: Final = frozenset({TransactionStatus.INTRANS, TransactionStatus.INERROR})


class Taken(MetagitError):
    """Something stands already where a row was to go."""


class Link:
    """A connection on which transactions begin and end where the caller says so."""

    def __init__(self, url: str, *, busy_seconds: float) -> None:
        """Connect.

        Raises:
            StoreUnavailable: there is no connection to be had.
        """
        self.name = public_name(url)
        try:
            self._link = psycopg.connect("", autocommit=True, **{**_PATIENCE, **conninfo_to_dict(url)})
        except psycopg.Error:
            # What it says may hold parts of the address.
            raise unreachable(self.name) from None
        try:
            self.run("session", lock=milliseconds(busy_seconds), idle=milliseconds(_IDLE_SECONDS))
        except BaseException:
            self.close()
            raise

    @property
    def is_lost(self) -> bool:
        """Whether nothing can be asked any more."""
        return self._link.closed

    @property
    def is_sound(self) -> bool:
        """Whether a transaction is open, and no statement of it failed."""
        return not self.is_lost and self._link.info.transaction_status == TransactionStatus.INTRANS

    def run(self, name: str, values: Values | None = None, /, **more: Any) -> Rows:  # noqa: ANN401 - what it takes
        """Run the statement of a name."""
        values = {**(values or {}), **more}
        with self._translated():
            return _rows(self._link.execute(statement(name), values))

    def run_all(self, name: str) -> None:
        """Run a text of several statements."""
        with self._translated():
            self._link.execute(statement(name))

    def together(self, *asked: Asked) -> list[Rows]:
        """Run several statements in one round trip; after one that fails none is run."""
        with self._translated():
            with self._link.pipeline():
                cursors = [self._link.execute(statement(name), values) for name, values in asked]
            return [_rows(cursor) for cursor in cursors]

    @property
    def descriptor(self) -> int:
        """What can be read when something was heard."""
        with self._translated():
            return self._link.fileno()

    def heard(self) -> list[str]:
        """Return what listeners were told since the last look."""
        with self._translated():
            return [each.payload for each in self._link.notifies(timeout=0)]

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep all of a block, or nothing."""
        self.run("begin")
        try:
            yield
            self.run("commit")
        finally:
            self.rollback()

    def rollback(self) -> None:
        """Undo the transaction, if one is open; a connection in the middle of something is of no more use."""
        if self.is_lost or self._link.info.transaction_status == TransactionStatus.IDLE:
            return
        is_between = self._link.pgconn.pipeline_status == PipelineStatus.OFF
        if is_between and self._link.info.transaction_status in _OPEN:
            with contextlib.suppress(MetagitError):
                self.run("rollback")
                return
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._link.close()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.UniqueViolation as cause:
            raise Taken from cause
        except psycopg.Error as cause:
            if self.is_lost:
                raise cut(self.name) from cause
            raise ledger_error(cause.sqlstate, self.name) from cause


def _rows(cursor: psycopg.Cursor[tuple[Any, ...]]) -> Rows:
    return [] if cursor.description is None else cursor.fetchall()


def milliseconds(seconds: float) -> str:
    """Return a time as the settings of PostgreSQL have it."""
    return f"{max(1, round(seconds * 1000))}ms"
