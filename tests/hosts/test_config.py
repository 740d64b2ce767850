"""Real clients read what `config` writes into their files, and `config` understands what they write themselves.

Must not know: the plugin. No account, and no model: a session is not begun.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from tests.hosts.client import CALL_SECONDS, bounded

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hosts.client import Client, Home

pytestmark = pytest.mark.hosts

URL = "http://127.0.0.1:8765/mcp"


def config(home: Home, cwd: Path, *words: str) -> dict[str, Any]:
    """What `config` answers, in the environment of the clients."""
    command = [str(home.programs / "metagit-mcp"), "config", *words, "--json"]
    done = bounded(command, cwd, home.environ, "", CALL_SECONDS)
    record: dict[str, Any] = json.loads(done.stdout)
    assert done.stderr == ""
    return record


def state(home: Home, cwd: Path, *words: str) -> str:
    (file,) = config(home, cwd, *words)["files"]
    return str(file["state"])


def codex_server(codex: Client, cwd: Path) -> dict[str, Any]:
    (server,) = json.loads(codex.said("mcp", "list", "--json", cwd=cwd))
    return {"name": server["name"], **{name: each for name, each in server["transport"].items() if each is not None}}


def test_codex_reads_what_is_written(codex: Client, home: Home, workspace: Path) -> None:
    before = (home.path / ".codex/config.toml").read_bytes()
    config(home, workspace, "codex", "--write", "--toolsets", "schedule,work,tasks")
    assert codex_server(codex, workspace / "web/src") == {
        "name": "metagit",
        "type": "stdio",
        "command": "metagit-mcp",
        "args": ["serve", "--toolsets", "schedule,work,tasks"],
        "env_vars": [
            "METAGIT_AGENT_ID",
            "METAGIT_LEDGER",
            "METAGIT_WORKSPACE",
            "METAGIT_WORKSPACE_ID",
            "METAGIT_WORKSPACE_ROOT",
        ],
    }
    config(home, workspace, "codex", "--write", "--http", URL)
    assert codex_server(codex, workspace) == {
        "name": "metagit",
        "type": "streamable_http",
        "url": URL,
        "bearer_token_env_var": "METAGIT_TOKEN",
    }
    config(home, workspace, "codex", "--remove")
    assert (home.path / ".codex/config.toml").read_bytes() == before


def test_what_was_approved_in_codex_stays(codex: Client, home: Home, workspace: Path) -> None:
    path = home.path / ".codex/config.toml"
    config(home, workspace, "codex", "--write")
    approved = '\n[mcp_servers.metagit.tools.metagit_schedule_next]\napproval_mode = "approve"\n'
    path.write_text(path.read_text() + approved)
    assert codex_server(codex, workspace)["name"] == "metagit"
    assert state(home, workspace, "codex", "--check") == "current"
    config(home, workspace, "codex", "--write", "--toolsets", "work")
    assert path.read_text().endswith(approved)
    assert codex_server(codex, workspace)["args"] == ["serve", "--toolsets", "work"]
    config(home, workspace, "codex", "--remove")
    assert json.loads(codex.said("mcp", "list", "--json", cwd=workspace)) == []


def test_what_codex_writes_itself_is_ours_too(codex: Client, home: Home, workspace: Path) -> None:
    paste = config(home, workspace, "codex", "--agent-id", "a-1")["paste"]
    codex.said(*paste.split()[1:], cwd=workspace)
    assert state(home, workspace, "codex", "--check", "--agent-id", "a-1") == "outdated"
    config(home, workspace, "codex", "--write", "--agent-id", "a-1")
    # Codex writes the whole file anew, and the entry is still the same.
    codex.said("mcp", "add", "other", "--", "other", cwd=workspace)
    assert state(home, workspace, "codex", "--check", "--agent-id", "a-1") == "current"
    assert state(home, workspace, "codex", "--remove") == "missing"
    assert codex_server(codex, workspace)["name"] == "other"


def test_claude_reads_what_is_written(claude: Client, home: Home, workspace: Path) -> None:
    config(home, workspace, "claude-code", "--write")
    said = claude.said("mcp", "get", "metagit", cwd=workspace)
    assert {"Scope: Project config (shared via .mcp.json)", "Type: stdio", "Command: metagit-mcp", "Args: serve"} <= {
        line.strip() for line in said.splitlines()
    }
    claude.said("mcp", "add", "--scope", "project", "other", "--", "other", cwd=workspace)
    assert state(home, workspace, "claude-code", "--check") == "current"
    assert state(home, workspace, "claude-code", "--remove") == "missing"
    assert list(json.loads((workspace / ".mcp.json").read_text())["mcpServers"]) == ["other"]


@pytest.mark.parametrize(
    "words", [(), ("--capabilities", "a b,c", "--toolsets", "work"), ("--http", URL)], ids=" ".join
)
def test_what_claude_writes_itself_is_ours_too(
    claude: Client, home: Home, workspace: Path, words: tuple[str, ...]
) -> None:
    _, mcp, add, *paste = shlex.split(config(home, workspace, "claude-code", *words)["paste"])
    claude.said(mcp, add, "--scope", "project", *paste, cwd=workspace)
    assert state(home, workspace, "claude-code", "--check", *words) == "current"
    assert state(home, workspace, "claude-code", "--check", "--capabilities", "gpu") == "outdated"
    assert state(home, workspace, "claude-code", "--remove") == "missing"
