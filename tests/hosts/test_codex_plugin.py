"""Codex takes the plugin from the same marketplace, and would start its server in the folder of the session.

Must not know: what the plugin says. No account, and no model: a session is not begun.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.hosts.client import PROGRAM, bounded
from tests.hosts.conftest import PLUGIN, ROOT, added_by_hand

if TYPE_CHECKING:
    from tests.hosts.client import Client, Home

pytestmark = pytest.mark.hosts

VARIABLES = [
    "METAGIT_AGENT_ID",
    "METAGIT_LEDGER",
    "METAGIT_WORKSPACE",
    "METAGIT_WORKSPACE_ID",
    "METAGIT_WORKSPACE_ROOT",
]


def servers(codex: Client, cwd: Path) -> list[dict[str, Any]]:
    """The servers that Codex knows, without those that it says nothing of."""
    listed: list[dict[str, Any]] = json.loads(codex.said("mcp", "list", "--json", cwd=cwd))
    return listed


def test_it_is_installed(codex_with_plugin: Client, home: Home) -> None:
    said = codex_with_plugin.said("plugin", "list", cwd=home.path)

    assert [line.split()[:3] for line in said.splitlines() if line.startswith(PLUGIN)] == [
        [PLUGIN, "installed,", "enabled"]
    ]


def test_its_server_has_the_folder_of_the_session_and_time_to_wait(codex_with_plugin: Client, workspace: Path) -> None:
    transport = {
        "type": "stdio",
        "command": "metagit-mcp",
        "args": ["serve", "--max-wait", "300"],
        "env": None,
        "env_vars": VARIABLES,
        "cwd": None,
    }
    assert servers(codex_with_plugin, workspace / "web/src") == [
        {
            "name": "sched",
            "enabled": True,
            "disabled_reason": None,
            "transport": transport,
            "startup_timeout_sec": None,
            "tool_timeout_sec": 330.0,
            "auth_status": "unsupported",
        }
    ]


def test_it_is_removed(codex_with_plugin: Client, home: Home) -> None:
    codex_with_plugin.said("plugin", "remove", PLUGIN, cwd=home.path)
    codex_with_plugin.said("plugin", "marketplace", "remove", "metagit", cwd=home.path)

    assert servers(codex_with_plugin, home.path) == []


def test_a_server_without_the_plugin_is_added(codex: Client, workspace: Path) -> None:
    codex.said(*added_by_hand("codex"), cwd=workspace)
    (server,) = servers(codex, workspace)

    found = {name: server["transport"][name] for name in ("command", "args", "cwd")}
    assert (server["name"], found) == ("metagit", {"command": "metagit-mcp", "args": ["serve"], "cwd": None})


def test_the_portable_package_starts_in_its_own_folder(codex: Client, home: Home, tmp_path: Path) -> None:
    shop = tmp_path / "marketplace"
    shutil.copytree(ROOT / "plugins/metagit-portable", shop / "metagit")
    listed = {"name": "tried", "owner": {"name": "x"}, "plugins": [{"name": "metagit", "source": "./metagit"}]}
    (shop / ".claude-plugin").mkdir()
    (shop / ".claude-plugin/marketplace.json").write_text(json.dumps(listed), encoding="utf-8")
    codex.said("plugin", "marketplace", "add", str(shop), cwd=home.path)
    codex.said("plugin", "add", "metagit@tried", cwd=home.path)
    (server,) = servers(codex, tmp_path)

    folder, words = server["transport"]["cwd"], server["transport"]["args"]
    assert folder.startswith(str(home.path / ".codex/plugins/cache/tried/metagit"))
    warned = bounded([str(PROGRAM), *words], Path(folder), home.environ, "", 30).stderr
    assert "No metagit workspace upward from" in warned
    assert "METAGIT_WORKSPACE" in warned


def test_a_program_that_hangs_is_killed_with_all_it_started(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "import subprocess; subprocess.run(['sleep', '300'])"]
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        bounded(program, tmp_path, {}, "", 1)

    # The other wait is for what still holds its output.
    assert caught.value.timeout == 1
