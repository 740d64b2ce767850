"""Which file of which host is meant, how the host reaches the server, and which options do not go together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from metagit_mcp.application.hosts.places import connection_of, is_shared, paths_of
from metagit_mcp.errors import InvalidInput, WorkspaceNotFound
from metagit_mcp.ports.hosts import HostFacts
from metagit_mcp.wire.host_files.host_entries import Connection
from metagit_mcp.wire.host_files.hosts import Host, HostWish

FACTS = HostFacts(
    project="/home/ada/shop",
    home="/home/ada",
    config_home="/home/ada/.config",
    codex_home="/home/ada/.codex",
    is_mac=False,
    program=("metagit-mcp",),
    workspace="/home/ada/shop",
)


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (HostWish(host="claude-code"), ["/home/ada/shop/.mcp.json"]),
        (HostWish(host="claude-desktop"), ["/home/ada/.config/Claude/claude_desktop_config.json"]),
        (HostWish(host="cursor"), ["/home/ada/shop/.cursor/mcp.json"]),
        (HostWish(host="cursor", everywhere=True), ["/home/ada/.cursor/mcp.json"]),
        (HostWish(host="vscode"), ["/home/ada/shop/.vscode/mcp.json"]),
        (HostWish(host="codex"), ["/home/ada/.codex/config.toml"]),
        (HostWish(host="codex", everywhere=False), ["/home/ada/shop/.codex/config.toml"]),
        (HostWish(host="agents-md"), ["/home/ada/shop/AGENTS.md", "/home/ada/shop/CLAUDE.md"]),
        (HostWish(host="agents-md", file="docs/GEMINI.md"), ["/home/ada/shop/docs/GEMINI.md"]),
        (HostWish(host="agents-md", file="/x/AGENTS.md"), ["/x/AGENTS.md"]),
    ],
)
def test_each_host_has_a_file(wish: HostWish, expected: list[str]) -> None:
    assert list(paths_of(wish, FACTS)) == expected


def test_on_a_mac_claude_desktop_keeps_its_file_elsewhere() -> None:
    (path,) = paths_of(HostWish(host="claude-desktop"), replace(FACTS, is_mac=True))
    assert path == "/home/ada/Library/Application Support/Claude/claude_desktop_config.json"


def test_only_files_of_the_project_are_shared() -> None:
    at_home = replace(FACTS, project="/home/ada")
    said = [
        is_shared(HostWish(host="claude-code"), FACTS, "/home/ada/shop/.mcp.json"),
        is_shared(HostWish(host="codex"), FACTS, "/home/ada/.codex/config.toml"),
        is_shared(HostWish(host="claude-desktop"), at_home, "/home/ada/.config/Claude/claude_desktop_config.json"),
    ]
    assert said == [True, False, False]


@pytest.mark.parametrize(
    ("host", "given", "flag", "only"),
    [
        ("codex", {"file": "AGENTS.md"}, "file", "agents-md"),
        ("vscode", {"everywhere": True}, "user", "cursor"),
        ("codex", {"everywhere": True}, "user", "cursor"),
        ("cursor", {"everywhere": False}, "project", "codex"),
    ],
)
def test_a_flag_of_another_host_is_refused(host: Host, given: dict[str, Any], flag: str, only: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        paths_of(HostWish(host=host, **given), FACTS)
    error = caught.value
    assert (error.message, error.hint) == (f"--{flag} is not for {host}", f"It is for {only} only.")


# --- how the server is reached -------------------------------------------------------------------------------------

OPEN = "${workspaceFolder}"


@pytest.mark.parametrize(
    ("wish", "workspace", "expected"),
    [
        (HostWish(host="claude-code"), "/home/ada/shop", None),
        (HostWish(host="codex"), None, None),
        (HostWish(host="claude-code", workspace="/w"), "/w", "/w"),
        (HostWish(host="claude-desktop"), "/home/ada/shop", "/home/ada/shop"),
        (HostWish(host="claude-desktop", workspace="/w"), "/w", "/w"),
        (HostWish(host="cursor"), "/home/ada/shop", OPEN),
        (HostWish(host="vscode"), None, OPEN),
        (HostWish(host="cursor"), "/home/ada", f"{OPEN}/.."),
        (HostWish(host="vscode"), "/home", f"{OPEN}/../.."),
        (HostWish(host="vscode"), "/srv/w", "/srv/w"),
        (HostWish(host="cursor"), "/home/ada/shop/inner", "/home/ada/shop/inner"),
        (HostWish(host="cursor", everywhere=True), "/home/ada/shop", None),
        (HostWish(host="cursor", workspace="/w"), "/w", "/w"),
    ],
)
def test_a_workspace_is_named_where_the_host_would_not_find_it(
    wish: HostWish, workspace: str | None, expected: str | None
) -> None:
    assert connection_of(wish, replace(FACTS, workspace=workspace)) == Connection(workspace=expected)


def test_claude_desktop_has_to_be_told_a_workspace() -> None:
    with pytest.raises(WorkspaceNotFound) as caught:
        connection_of(HostWish(host="claude-desktop"), replace(FACTS, workspace=None))
    assert caught.value.message == "No metagit workspace upward from here."
    assert caught.value.hint == (
        "Claude Desktop starts the server in no project. Pass --workspace PATH, or: metagit-mcp init"
    )


def test_program_and_options_are_handed_on() -> None:
    wish = HostWish(host="codex", agent_id="a-1", toolsets=("work", "schedule"), capabilities=("gpu",))
    facts = replace(FACTS, program=("/py", "-m", "metagit_mcp"))
    options = ("--agent-id", "a-1", "--toolsets", "work,schedule", "--capabilities", "gpu")
    assert connection_of(wish, facts) == Connection(program=facts.program, options=options)


@pytest.mark.parametrize("path", ["/w\n", "/w\x1b", "/w\udce4"])
def test_a_path_that_is_no_text_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match="is a path that no such file can hold"):
        connection_of(HostWish(host="codex", workspace=path), FACTS)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://127.0.0.1:8765", "http://127.0.0.1:8765/mcp"),
        ("https://m.example.org/", "https://m.example.org/mcp"),
        ("https://m.example.org/metagit/mcp", "https://m.example.org/metagit/mcp"),
        ("http://[::1]:8765/mcp", "http://[::1]:8765/mcp"),
    ],
)
def test_a_server_over_http_has_a_url(given: str, url: str) -> None:
    assert connection_of(HostWish(host="cursor", url=given), FACTS) == Connection(url=url)


HAS_MORE = "--http must be a URL without user, query and fragment"


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (HostWish(host="codex", url="127.0.0.1:8765"), "--http must be a URL"),
        (HostWish(host="codex", url="file:///mcp"), "--http must be a URL"),
        (HostWish(host="codex", url="https:///mcp"), "--http must be a URL"),
        (HostWish(host="codex", url="http://a b/mcp"), "--http must be a URL"),
        (HostWish(host="codex", url="http://[::1/mcp"), "--http must be a URL"),
        (HostWish(host="codex", url="http://a/\x7f"), "--http must be a URL"),
        (HostWish(host="codex", url="http://a:x/mcp"), "--http must be a URL"),
        (HostWish(host="codex", url="http://a:0/mcp"), "--http must be a URL"),
        (HostWish(host="codex", url="https://me:secret@m.example.org/mcp"), HAS_MORE),
        (HostWish(host="codex", url="https://m.example.org/mcp?token=x"), HAS_MORE),
        (HostWish(host="codex", url="https://m.example.org/mcp#x"), HAS_MORE),
        (HostWish(host="codex", url="https://m/mcp", agent_id="a"), "--http goes with no other option of the server"),
        (HostWish(host="codex", url="https://m/mcp", workspace="/w"), "--http goes with no other option of the server"),
        (HostWish(host="claude-desktop", url="https://m/mcp"), "--http is not for claude-desktop"),
        (HostWish(host="agents-md", url="https://m/mcp"), "--http is not for agents-md"),
        (HostWish(host="agents-md", toolsets=("work",)), "--toolsets is not for agents-md"),
    ],
)
def test_what_does_not_go_together_is_refused(wish: HostWish, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        connection_of(wish, FACTS)
    assert caught.value.message == message
    assert caught.value.hint
    assert "secret" not in str(caught.value.as_record()).replace("nothing secret", "")
