"""A workspace with a small task graph, and what became of it: as its files and its ledger say. Knows no recipe."""

from __future__ import annotations

import json
import select
import sqlite3
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests import ready
from tests.interop.peer import environment

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

GRAPH: Final = "shop"
# `till` waits for both others, whoever does them.
NODES: Final = [
    {"node_id": "search", "title": "Find things", "priority": 2, "acceptance": ["a word is found"]},
    {"node_id": "cart", "title": "Keep things", "priority": 1},
    {"node_id": "till", "title": "Pay for things", "depends_on": ["search", "cart"]},
]
WAIT_S: Final = 100.0
_LOOK_S: Final = 0.05


@dataclass(frozen=True)
class Shop:
    """A workspace in `root`."""

    root: Path

    def metagit(self, *words: str) -> Any:  # noqa: ANN401 - the answer of any command
        """The JSON that a command of ours prints."""
        command = [sys.executable, "-m", "metagit_mcp", *words, "--workspace", str(self.root), "--json"]
        done = ready.run(command, cwd=self.root, env=environment(), capture_output=True, timeout=WAIT_S, check=True)
        return json.loads(done.stdout)

    def statuses(self) -> dict[str, str]:
        """What the graph file says of each node."""
        graph = json.loads((self.root / f".metagit/tasks/graphs/{GRAPH}.json").read_text(encoding="utf-8"))
        return {each["node_id"]: each["status"] for each in graph["nodes"]}

    def history(self) -> list[tuple[str, str, str]]:
        """What the ledger says happened to work: what, to which node, by whom; renewals left out."""
        leases: dict[str, Any] = {}
        told: list[tuple[str, str, str]] = []
        for kind, body in self._events():
            if kind == "work_started":
                leases[body["lease"]["lease_id"]] = body["lease"]
            lease = leases.get(body.get("lease_id") or body.get("lease", {}).get("lease_id"))
            if lease is not None and kind.startswith("work_"):
                told.append((kind.removeprefix("work_"), lease["node_id"], lease["agent_id"]))
        return told

    def bodies(self, kind: str) -> list[Any]:
        """All events of a kind."""
        return [body for each, body in self._events() if each == kind]

    def _events(self) -> list[tuple[str, Any]]:
        path = self.root / ".metagit/schedule/ledger.db"
        if not path.exists():
            return []
        with closing(sqlite3.connect(path, timeout=WAIT_S)) as ledger:
            rows = ledger.execute("SELECT kind, body FROM event ORDER BY position").fetchall()
        return [(kind, json.loads(body)) for kind, body in rows]

    def token(self, subject: str) -> str:
        """The secret of a new token of an agent."""
        secret: str = self.metagit("token", "issue", subject, "--role", "agent")["secret"]
        return secret


def opened(root: Path) -> Shop:
    """A new workspace with the graph in it."""
    root.mkdir()
    shop = Shop(root)
    shop.metagit("init")
    shop.metagit("task", "plan", "--title", "Shop", "--graph-id", GRAPH, "--nodes", json.dumps(NODES))
    return shop


def until(is_so: Callable[[], object], said: Path, process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until something is so, as long as the process goes on that brings it about; else fail with what it said."""
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        has_ended = process is not None and process.poll() is not None and not is_so()
        text = said.read_text(encoding="utf-8", errors="replace")
        assert time.monotonic() < deadline, text
        assert not has_ended, text
        select.select([], [], [], _LOOK_S)
