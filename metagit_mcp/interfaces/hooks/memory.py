"""What a worker was told last, in a small file outside the workspace, one for each agent of a session.

A file that cannot be kept means that nothing is told: what is not remembered would be told for ever.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from typing import TYPE_CHECKING

from metagit_mcp.interfaces.hooks.identity import said

if TYPE_CHECKING:
    from metagit_mcp.application.briefing import NextWork

_PLUGIN_DATA = ("CLAUDE_PLUGIN_DATA", "PLUGIN_DATA")
_PREFIX = "told-"
_MOST_BYTES = 64 * 1024
_NODES_KEPT = 100
_KEPT_SECONDS = 30 * 86_400
_LOOKED_AT = 1_000


def state_folder(environ: Mapping[str, str]) -> str:
    """Return where hooks keep what they told; it may not be there yet. Empty where nothing names a place.

    A path that begins nowhere would lead into the folder in which the host works: it is passed over.
    """
    home = environ["HOME"] if "HOME" in environ else os.path.expanduser("~")  # noqa: PTH111 - no Path is needed
    ways = (
        *((environ.get(name), "/hooks") for name in _PLUGIN_DATA),
        (environ.get("XDG_STATE_HOME"), "/metagit-mcp/hooks"),
        (home, "/.local/state/metagit-mcp/hooks"),
    )
    return next((way + rest for given, rest in ways if os.path.isabs(way := said(given))), "")  # noqa: PTH117 - as above


class Memory:
    """What was told to one agent in one session."""

    def __init__(self, path: str) -> None:
        """Read nothing yet."""
        self._path = path

    @classmethod
    def of(cls, agent_id: str, session_id: str, environ: Mapping[str, str]) -> "Memory":
        """Return what is remembered of an agent in a session."""
        name = hashlib.sha256(json.dumps([session_id, agent_id]).encode()).hexdigest()[:32]
        folder = state_folder(environ)
        return cls(f"{folder}/{_PREFIX}{name}.json" if folder else "")

    def note(self, key: str, node: "NextWork | None" = None) -> bool:
        """Note that a fact is told now. Say whether it may be: it is new, and it will be remembered.

        Args:
            key: what is told.
            node: the node that is named, which is named once.
        """
        if not self._path:
            return False
        try:
            with _in_turn(os.path.dirname(self._path)):  # noqa: PTH120 - no Path is needed
                return self._noted(key, None if node is None else [node.graph_id, node.node_id])
        except (OSError, ValueError):
            return False

    def _noted(self, key: str, named: list[str] | None) -> bool:
        before, nodes = self._read()
        if key == before or (named is not None and named in nodes):
            return False
        self._write(key, [*nodes, named] if named is not None else nodes)
        return True

    def _read(self) -> tuple[str, list[object]]:
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return "", []
        try:
            raw = os.read(file, _MOST_BYTES)
        finally:
            os.close(file)
        try:
            found = json.loads(raw)
            told, nodes = found["told"], found["nodes"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return "", []
        return (told, nodes) if isinstance(told, str) and isinstance(nodes, list) else ("", [])

    def _write(self, key: str, nodes: list[object]) -> None:
        folder = os.path.dirname(self._path)  # noqa: PTH120 - as above
        _forget_old(folder)
        line = json.dumps({"told": key, "nodes": nodes[-_NODES_KEPT:]}).encode()
        draft = f"{self._path}.{os.urandom(6).hex()}"
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            try:
                if os.write(file, line) != len(line):
                    raise OSError(draft)
            finally:
                os.close(file)
            os.replace(draft, self._path)  # noqa: PTH105 - as above
        except OSError:
            with suppress(OSError):
                os.unlink(draft)  # noqa: PTH108 - as above
            raise


@contextmanager
def _in_turn(folder: str) -> Iterator[None]:
    """Keep other hooks out meanwhile: two that are registered for one event begin at once."""
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - no Path is needed
    there = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Where a file system knows no locks, a fact may be told twice.
        with suppress(OSError):
            flock(there, LOCK_EX)
        yield
    finally:
        os.close(there)


def _forget_old(folder: str) -> None:
    """Delete what was told a month ago: its session is over."""
    before = time.time() - _KEPT_SECONDS
    with suppress(OSError), os.scandir(folder) as entries:
        for _, entry in zip(range(_LOOKED_AT), entries, strict=False):
            if entry.name.startswith(_PREFIX) and entry.stat(follow_symlinks=False).st_mtime < before:
                os.unlink(entry.path)  # noqa: PTH108 - as above
