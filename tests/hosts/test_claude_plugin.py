"""Claude Code takes the plugin from the marketplace of this repository, and its server is connected from anywhere.

Must not know: what the plugin says. No account, and no model: a session is not begun.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.interfaces.mcp.tools import TOOLS
from metagit_mcp.settings import DEFAULT_TOOLSETS
from tests import ready
from tests.hosts.conftest import PLUGIN, ROOT, added_by_hand
from tests.interop.peer import environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hosts.client import Client, Conversation, Home

pytestmark = pytest.mark.hosts

CONNECTED = "plugin:metagit:sched: metagit-mcp serve - ✔ Connected"
OFFERED = [tool.name for tool in TOOLS if tool.toolset in DEFAULT_TOOLSETS]
# What each session of each user pays, whether the scheduler is used or not.
MOST_TOKENS = 80


@pytest.mark.parametrize(
    "words",
    [[], ["--strict"], ["plugins/metagit", "--strict"], ["plugins/metagit", "--strict", "--profile", "directory"]],
    ids=" ".join,
)
def test_it_is_valid(claude: Client, words: list[str]) -> None:
    where, *flags = words if words[:1] == ["plugins/metagit"] else [".", *words]
    said = claude.said("plugin", "validate", where, *flags, cwd=ROOT)

    assert said.rstrip().endswith("✔ Validation passed")


def test_what_is_not_valid_is_refused(claude: Client, tmp_path: Path) -> None:
    (tmp_path / ".claude-plugin").mkdir()
    (tmp_path / ".claude-plugin/plugin.json").write_text('{"name": "x", "hook": {}}', encoding="utf-8")

    assert claude.run("plugin", "validate", str(tmp_path), "--strict", cwd=tmp_path).returncode == 1


def test_it_is_installed_with_all_its_parts(claude_with_plugin: Client, home: Home) -> None:
    (listed,) = json.loads(claude_with_plugin.said("plugin", "list", "--json", cwd=home.path))[:1]
    said = claude_with_plugin.said("plugin", "details", PLUGIN, cwd=home.path)
    cost = re.search(r"Always-on:\s+~(\d+) tok", said)

    assert (listed["id"], listed["enabled"]) == (PLUGIN, True)
    assert "Skills (1)  work-loop" in said
    assert "Hooks (5)  SessionStart, PreToolUse, Stop, SubagentStop, TeammateIdle" in said
    assert "MCP servers (1)  sched" in said
    assert cost is not None
    assert int(cost[1]) <= MOST_TOKENS


def test_its_server_speaks_the_new_protocol(claude_with_plugin: Client, home: Home, workspace: Path) -> None:
    said, spoken = in_time(claude_with_plugin, home, workspace / "web/src")

    assert CONNECTED in said.splitlines()
    assert spoken.asked()[:2] == ["server/discover", "tools/list"]
    assert "2026-07-28" in spoken.answer("server/discover")["supportedVersions"]
    assert meta_of(spoken, "tools/list")["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert [tool["name"] for tool in spoken.answer("tools/list")["tools"]] == OFFERED
    assert found_by(spoken) == str(workspace)


def test_its_server_speaks_the_old_protocol(claude_with_plugin: Client, home: Home, workspace: Path) -> None:
    spoken = home.listen_in(refused="server/discover")
    said = claude_with_plugin.said("mcp", "list", cwd=workspace / "web/src")

    assert CONNECTED in said.splitlines()
    assert spoken.asked() == ["server/discover", "initialize", "notifications/initialized", "tools/list"]
    assert spoken.answer("initialize")["protocolVersion"] == "2025-11-25"
    assert [tool["name"] for tool in spoken.answer("tools/list")["tools"]] == OFFERED
    assert found_by(spoken) == str(workspace)


@pytest.mark.parametrize(
    ("options", "environ", "expected"),
    [
        ([], {}, ""),
        (["--config", "agent_id=ada"], {}, "ada"),
        (["--config", "agent_id=ada"], {"METAGIT_AGENT_ID": "bob"}, "bob"),
    ],
)
def test_its_server_is_told_the_agent_id(
    claude: Client, home: Home, workspace: Path, options: list[str], environ: dict[str, str], expected: str
) -> None:
    claude.said("plugin", "marketplace", "add", str(ROOT), cwd=home.path)
    claude.said("plugin", "install", PLUGIN, *options, cwd=home.path)
    spoken = home.listen_in()
    claude.said("mcp", "list", cwd=workspace, **environ)

    assert spoken.start["env"]["METAGIT_AGENT_ID"] == expected


def test_it_is_installed_in_one_line(claude: Client, home: Home, workspace: Path) -> None:
    claude.said("plugin", "install", "metagit", "--marketplace", str(ROOT), cwd=home.path)

    assert CONNECTED in claude.said("mcp", "list", cwd=workspace).splitlines()


def test_it_is_removed(claude_with_plugin: Client, home: Home, workspace: Path) -> None:
    claude_with_plugin.said("plugin", "uninstall", PLUGIN, cwd=home.path)
    claude_with_plugin.said("plugin", "marketplace", "remove", "metagit", cwd=home.path)

    assert claude_with_plugin.said("mcp", "list", cwd=workspace).startswith("No MCP servers configured.")


def test_a_server_without_the_plugin_is_connected(claude: Client, workspace: Path) -> None:
    claude.said(*added_by_hand("claude"), cwd=workspace)

    assert "metagit: metagit-mcp serve - ✔ Connected" in claude.said("mcp", "list", cwd=workspace).splitlines()


def test_a_server_that_hangs_is_given_up(claude_with_plugin: Client, home: Home, workspace: Path) -> None:
    home.put_program("exec sleep 300")
    said = claude_with_plugin.said("mcp", "list", cwd=workspace, MCP_TIMEOUT="1500")

    assert "plugin:metagit:sched: metagit-mcp serve - ✘ Failed to connect" in said


def in_time(claude: Client, home: Home, cwd: Path, starts: int = 4) -> tuple[str, Conversation]:
    """What a run says and hears in which the server answers the first question before the host gives it up.

    That is after a few seconds; then it goes on as with an older server. A machine at work may need a second start.
    """
    spoken = home.listen_in()
    said = claude.said("mcp", "list", cwd=cwd)
    if starts > 1 and "initialize" in spoken.asked():
        return in_time(claude, home, cwd, starts - 1)
    return said, spoken


def meta_of(spoken: Conversation, method: str) -> dict[str, Any]:
    """What the host says of itself with the first request of a method."""
    frame = next(frame for frame in spoken.frames("host") if frame.get("method") == method)
    meta: dict[str, Any] = frame["params"]["_meta"]
    return meta


def found_by(spoken: Conversation) -> str:
    """The workspace that the program finds where the host started it."""
    env = {**environment(), **spoken.start["env"]}
    status = [sys.executable, "-m", "metagit_mcp", "schedule", "status", "--json"]
    done = ready.run(status, cwd=spoken.start["cwd"], env=env, capture_output=True, timeout=30, check=True)
    path: str = json.loads(done.stdout)["workspace"]["path"]
    return path
