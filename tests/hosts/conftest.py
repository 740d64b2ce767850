"""Homes, workspaces and clients for the tests of agent hosts; what each test gets is its own."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests import ready
from tests.hosts.client import Client, Home
from tests.interop.peer import environment, host

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "metagit@metagit"
# Where a server without the plugin is shown.
_PAGES = ("README.md", "docs/how-to/connect-a-host.md")


def added_by_hand(name: str) -> list[str]:
    """The words with which the pages have a host, `claude` or `codex`, take the server without the plugin."""
    for page in _PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        if found := re.search(rf"\b{name} (mcp add metagit -- [\w -]+)", text):
            return found[1].split()
    message = f"no page shows {name} mcp add"
    raise AssertionError(message)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with one task, and a folder `web/src` in it."""
    folder = tmp_path / "shop"
    nodes = '[{"title": "Fix the footer"}]'
    for words in (["init", str(folder)], ["task", "plan", "--title", "Shop", "--graph-id", "shop", "--nodes", nodes]):
        command = [sys.executable, "-m", "metagit_mcp", *words]
        where = folder if folder.is_dir() else tmp_path
        ready.run(command, cwd=where, env=environment(), capture_output=True, timeout=30, check=True)
    (folder / "web/src").mkdir(parents=True)
    return folder


@pytest.fixture
def claude(home: Home) -> Client:
    """Claude Code without an account."""
    return Client(host("claude"), home.environ)


@pytest.fixture
def codex(home: Home) -> Client:
    """Codex without an account."""
    return Client(host("codex"), home.environ)


@pytest.fixture
def claude_with_plugin(claude: Client, home: Home) -> Client:
    """Claude Code that installed the plugin from this repository."""
    claude.said("plugin", "marketplace", "add", str(ROOT), cwd=home.path)
    claude.said("plugin", "install", PLUGIN, cwd=home.path)
    return claude


@pytest.fixture
def codex_with_plugin(codex: Client, home: Home) -> Client:
    """Codex that installed the plugin from this repository."""
    codex.said("plugin", "marketplace", "add", str(ROOT), cwd=home.path)
    codex.said("plugin", "add", PLUGIN, cwd=home.path)
    return codex
