"""What each host is told, character for character, and which entries are ones that this program may have written."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from metagit_mcp.wire.host_files.host_entries import (
    AS_MODULE,
    FORMATS,
    Connection,
    entry_of,
    is_ours,
    is_same,
    paste_of,
)
from metagit_mcp.wire.host_files.hosts import TITLES, Host
from metagit_mcp.wire.work_loop import CAUTION, IN_ONE_LINE, PROMPT, STEPS, in_instructions

STARTED = {"command": "metagit-mcp", "args": ["serve"]}
HANDED = ["METAGIT_AGENT_ID", "METAGIT_LEDGER", "METAGIT_WORKSPACE", "METAGIT_WORKSPACE_ID", "METAGIT_WORKSPACE_ROOT"]
URL = "https://metagit.example.org/mcp"
PLAIN = Connection()
FULL = Connection(
    program=("/opt/a b/python", *AS_MODULE),
    options=("--agent-id", "a-1", "--toolsets", "schedule,tasks"),
    workspace="/w",
)
REMOTE = Connection(url=URL)
ENTRIES: dict[tuple[Host, str], dict[str, Any]] = {
    ("claude-code", "plain"): {"type": "stdio", **STARTED},
    ("claude-desktop", "plain"): STARTED,
    ("cursor", "plain"): {"type": "stdio", **STARTED},
    ("vscode", "plain"): {"type": "stdio", **STARTED},
    ("codex", "plain"): {**STARTED, "env_vars": HANDED},
    ("claude-code", "url"): {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${METAGIT_TOKEN}"}},
    ("cursor", "url"): {"url": URL, "headers": {"Authorization": "Bearer ${env:METAGIT_TOKEN}"}},
    ("vscode", "url"): {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${env:METAGIT_TOKEN}"}},
    ("codex", "url"): {"url": URL, "bearer_token_env_var": "METAGIT_TOKEN"},
}
STARTING: list[Host] = ["claude-code", "claude-desktop", "cursor", "vscode", "codex"]


@pytest.mark.parametrize("key", ENTRIES, ids="-".join)
def test_what_each_host_is_told(key: tuple[Host, str]) -> None:
    host, way = key
    assert entry_of(host, PLAIN if way == "plain" else REMOTE) == ENTRIES[key]


@pytest.mark.parametrize("host", STARTING)
def test_program_options_and_workspace_are_in_it(host: Host) -> None:
    entry = entry_of(host, FULL)
    assert (entry["command"], entry["args"], entry["env"]) == (
        "/opt/a b/python",
        ["-m", "metagit_mcp", "serve", "--agent-id", "a-1", "--toolsets", "schedule,tasks"],
        {"METAGIT_WORKSPACE": "/w"},
    )


@pytest.mark.parametrize("host", STARTING)
def test_what_is_told_is_ours(host: Host) -> None:
    told = [entry_of(host, by) for by in (PLAIN, FULL, Connection(program=("/usr/bin/metagit-mcp",)))]
    assert [is_ours(host, each) for each in told] == [True, True, True]
    assert is_ours(host, ENTRIES.get((host, "url"), entry_of("cursor", REMOTE))) is (host != "claude-desktop")
    # As the hosts' own commands write it.
    assert is_ours(host, {**STARTED, "env": {}})


@pytest.mark.parametrize("host", STARTING)
@pytest.mark.parametrize(
    "entry",
    [
        None,
        "metagit-mcp serve",
        {},
        {"command": "metagit-mcp"},
        {"command": "metagit-mcp", "args": "serve"},
        {"command": "metagit-mcp", "args": ["board"]},
        {"command": "uvx", "args": ["metagit-mcp", "serve"]},
        {"command": "metagit-mcp", "args": ["--workspace", "/w", "serve"]},
        {"command": "python", "args": ["-m", "other", "serve"]},
        {"command": ["metagit-mcp"], "args": ["serve"]},
        {**STARTED, "args": ["serve", "--operator", "ada"]},
        {**STARTED, "args": ["serve", "--toolsets"]},
        {**STARTED, "args": ["serve", ["--toolsets"], "a"]},
        {**STARTED, "env": {"METAGIT_WORKSPACE": "/w", "A": "b"}},
        {**STARTED, "env": {"METAGIT_WORKSPACE": 1}},
        {**STARTED, "env": 7},
        {**STARTED, "timeout": 60},
        {**STARTED, "type": "sse"},
        {"url": URL, "headers": {"Authorization": "Bearer secret"}},
        {"url": 7},
    ],
)
def test_anything_else_is_a_persons(host: Host, entry: object) -> None:
    assert is_ours(host, entry) is False


def test_no_variables_are_an_empty_environment() -> None:
    assert is_same({**STARTED, "env": {}}, STARTED)
    assert not is_same({**STARTED, "env": {"A": "b"}}, STARTED)
    assert not is_same({**STARTED, "env": {}}, {**STARTED, "env": {"A": "b"}})
    assert is_same("a text", "a text")


@pytest.mark.parametrize(
    ("host", "by", "expected"),
    [
        ("claude-code", PLAIN, "claude mcp add metagit -- metagit-mcp serve"),
        ("codex", PLAIN, "codex mcp add metagit -- metagit-mcp serve"),
        (
            "claude-code",
            Connection(options=("--capabilities", "gpu,a b"), workspace="/w x"),
            "claude mcp add metagit --env 'METAGIT_WORKSPACE=/w x' -- metagit-mcp serve --capabilities 'gpu,a b'",
        ),
        (
            "codex",
            Connection(workspace="/w"),
            "codex mcp add metagit --env METAGIT_WORKSPACE=/w -- metagit-mcp serve",
        ),
        (
            "claude-code",
            REMOTE,
            f"claude mcp add --transport http metagit {URL} --header 'Authorization: Bearer ${{METAGIT_TOKEN}}'",
        ),
        ("codex", REMOTE, f"codex mcp add metagit --url {URL} --bearer-token-env-var METAGIT_TOKEN"),
        ("cursor", PLAIN, None),
    ],
)
def test_the_hosts_own_command(host: Host, by: Connection, expected: str | None) -> None:
    assert paste_of(host, by) == expected


def test_every_host_has_a_format_and_a_name() -> None:
    assert set(FORMATS) == set(TITLES) == set(get_args(Host))


def test_the_loop_is_said_once() -> None:
    assert PROMPT.endswith(f"\n\n{STEPS}\n{CAUTION}")
    steps = STEPS.format(named="")
    assert in_instructions() == (
        f"## Work of this workspace\n\n{IN_ONE_LINE} When you are to work on its tasks:\n\n{steps}\n{CAUTION}"
    )
    assert "{" not in in_instructions()
