"""A workspace with work for a few agents, and the commands by which they and a person come to it.

Must not know: the server, nor the page.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests import ready
from tests.interop.peer import environment

if TYPE_CHECKING:
    from pathlib import Path

SHOP = (
    {"node_id": "cart", "title": "Show the cart total before checkout", "priority": 5},
    {"node_id": "tax", "title": "Round taxes per line, not per order", "priority": 4},
    {"node_id": "mails", "title": "Send the receipt in the buyer's language", "priority": 2},
    {"node_id": "orders", "title": "Drop the old orders table", "priority": 3, "risk": "destructive"},
    {"node_id": "report", "title": "Monthly report from the new orders", "depends_on": ["orders"]},
)
SEARCH = (
    {"node_id": "index", "title": "Index product descriptions", "priority": 3},
    {"node_id": "rank", "title": "Rank by what was bought", "depends_on": ["index"]},
    {"node_id": "typos", "title": "Find it in spite of typos", "depends_on": ["index"]},
)
DOCS = (
    {"node_id": "guide", "title": "Guide for new sellers"},
    {"node_id": "faq", "title": "Answer the ten usual questions"},
)
GRAPHS = {"shop": ("Checkout", SHOP), "search": ("Search", SEARCH), "docs": ("Seller guide", DOCS)}


@dataclass(frozen=True)
class Fleet:
    """One workspace, driven by its command line, each command a process of its own."""

    root: Path

    def run(self, *arguments: str) -> dict[str, Any]:
        """The answer of a command; it must succeed."""
        command = [sys.executable, "-m", "metagit_mcp", *arguments, "--json"]
        done = ready.run(command, cwd=self.root, env=environment(), capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def plan(self) -> None:
        """Make the workspace with its graphs."""
        self.run("init")
        for graph_id, (title, nodes) in GRAPHS.items():
            self.run("task", "plan", "--title", title, "--graph-id", graph_id, "--nodes", json.dumps(nodes))

    def claim(self, agent_id: str) -> str:
        """Have an agent take the next node; its id."""
        [decision] = self.run("schedule", "next", "--claim", "--agent-id", agent_id)["decisions"]
        return str(decision["node_id"])

    def token(self, subject: str, role: str) -> str:
        """The secret of a new token."""
        issued = self.run("token", "issue", subject, "--role", role, "--operator", "ada")
        return str(issued["secret"])
