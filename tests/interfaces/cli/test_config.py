"""The command `config`: what it prints for people and for scripts, and with which code it ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

import pytest
from jsonschema import Draft202012Validator

from metagit_mcp.wire.host_files.hosts import Host
from metagit_mcp.wire.schemas import schema_of
from metagit_mcp.wire.work_loop import IN_ONE_LINE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.interfaces.cli.conftest import Ended

    Run = Callable[..., Ended]

CURSOR = """\
{
  "mcpServers": {
    "metagit": {
      "type": "stdio",
      "command": "metagit-mcp",
      "args": ["serve"],
      "env": {"METAGIT_WORKSPACE": "${workspaceFolder}"}
    }
  }
}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace in which the process is, with a home of its own and `metagit-mcp` on the path."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "metagit-mcp").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "metagit-mcp").chmod(0o755)
    (tmp_path / "shop" / ".metagit" / "tasks").mkdir(parents=True)
    for name, value in {"HOME": tmp_path, "PATH": tmp_path / "bin"}.items():
        monkeypatch.setenv(name, str(value))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop"


def test_a_person_is_told_what_to_paste_and_where(shop: Path, run: Run) -> None:
    ended = run("config", "cursor")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (
        f"Into {shop}/.cursor/mcp.json:\n\n{CURSOR}\nnext step: metagit-mcp config cursor --write puts it there, "
        "and leaves all else in the file as it is.\n"
    )
    assert list(shop.iterdir()) == [shop / ".metagit"]


def test_where_the_host_has_a_command_that_is_told_too(shop: Path, run: Run) -> None:
    out = run("config", "codex", "--toolsets", "schedule,work,tasks", "--agent-id", "a-1").out
    assert out == (
        f"Into {shop.parent}/.codex/config.toml:\n\n[mcp_servers.metagit]\n"
        'command = "metagit-mcp"\nargs = ["serve", "--agent-id", "a-1", "--toolsets", "schedule,work,tasks"]\n'
        'env_vars = ["METAGIT_AGENT_ID", "METAGIT_LEDGER", '
        '"METAGIT_WORKSPACE", "METAGIT_WORKSPACE_ID", "METAGIT_WORKSPACE_ROOT"]\n\n'
        "Or, for you alone: codex mcp add metagit -- metagit-mcp serve --agent-id a-1 --toolsets schedule,work,tasks\n"
        "warning: Codex waits a second for its servers and then begins without their tools; with "
        "mcp_optional_startup_grace_ms = 0 at the top of its file it waits until they are there.\n"
        "next step: metagit-mcp config codex --write puts it there, and leaves all else in the file as it is.\n"
    )


def test_instructions_are_shown_once_for_both_files_in_the_words_of_the_tools(shop: Path, run: Run) -> None:
    out = run("config", "agents-md").out
    assert out.startswith(f"Into {shop}/AGENTS.md, {shop}/CLAUDE.md:\n\n<!-- BEGIN metagit hash:")
    assert (out.count("<!-- BEGIN"), out.count(IN_ONE_LINE)) == (1, 1)


def test_what_was_done_is_said(shop: Path, run: Run) -> None:
    path = shop / ".mcp.json"
    said = [run("config", "claude-code", *flags.split()) for flags in ("--check", "--write", "--check", "--remove")]
    assert [(ended.code, ended.out) for ended in said] == [
        (
            5,
            f"{path}: not there\nnext step: Write it with the same options: metagit-mcp config claude-code --write\n",
        ),
        (0, f"{path}: written\nnext step: Start Claude Code anew.\n"),
        (0, f"{path}: as it should be\n"),
        (0, f"{path}: taken out\nnext step: Start Claude Code anew.\n"),
    ]
    assert not path.exists()


def test_other_options_make_it_outdated_and_a_hand_altered(shop: Path, run: Run) -> None:
    path = shop / ".vscode" / "mcp.json"
    assert run("config", "vscode", "--write", "--capabilities", "gpu").code == 0
    outdated = run("config", "vscode", "--check")
    assert (outdated.code, outdated.out.splitlines()[0]) == (
        5,
        f"{path}: there, with other options or of another version",
    )
    assert run("config", "vscode", "--check", "--capabilities", "gpu").code == 0
    path.write_text(path.read_text().replace('"gpu"', '"gpu"], "cwd": "/", "x": ["a"'))
    for action in ("--check", "--write", "--remove"):
        altered = run("config", "vscode", action)
        assert (altered.code, altered.out.splitlines()[0]) == (5, f"{path}: changed by hand")
    assert run("config", "vscode", "--write", "--force").code == 0
    assert run("config", "vscode", "--remove").code == 0


@pytest.mark.parametrize("host", get_args(Host))
def test_a_script_gets_one_line_that_fits_its_schema(shop: Path, run: Run, host: str) -> None:
    schema = Draft202012Validator(schema_of("config"))
    records = [
        run("config", host, *flags, "--json").record for flags in ((), ("--write",), ("--check",), ("--remove",))
    ]
    for record in records:
        schema.validate(record)
    assert [record["files"][0]["changed"] for record in records] == [False, True, False, True]
    # The folder that was made for the file stays.
    folders = {".metagit", f".{host}"} if host in {"cursor", "vscode"} else {".metagit"}
    assert {path.name for path in shop.iterdir()} == folders


def test_the_record_says_all(shop: Path, run: Run) -> None:
    assert run("config", "cursor", "--json").record == {
        "host": "cursor",
        "action": "show",
        "files": [{"path": f"{shop}/.cursor/mcp.json", "state": "missing", "changed": False, "text": CURSOR}],
        "warnings": [],
        "next_step": "metagit-mcp config cursor --write puts it there, and leaves all else in the file as it is.",
    }


def test_claude_desktop_gets_the_workspace_that_was_found(shop: Path, run: Run) -> None:
    (shop / "src").mkdir()
    entry = entry_of(run("config", "claude-desktop", "--json"))
    assert entry == {"command": "metagit-mcp", "args": ["serve"], "env": {"METAGIT_WORKSPACE": str(shop)}}


def entry_of(ended: Ended) -> dict[str, Any]:
    document = json.loads(ended.record["files"][0]["text"])
    entry: dict[str, Any] = document["mcpServers"]["metagit"]
    return entry


def test_a_workspace_that_is_named_stands_in_the_file(shop: Path, run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".metagit").mkdir(parents=True)
    assert "env" not in entry_of(run("config", "claude-code", "--json"))
    named = entry_of(run("--workspace", str(other), "config", "claude-code", "--json"))
    assert named["env"] == {"METAGIT_WORKSPACE": str(other)}
    ended = run("config", "claude-code", "--workspace", str(shop / "no"))
    assert (ended.code, "[WORKSPACE_NOT_FOUND]" in ended.err) == (3, True)


def test_most_hosts_need_no_workspace(shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.parent)
    codes = {host: run("config", host).code for host in get_args(Host)}
    assert codes == {**dict.fromkeys(get_args(Host), 0), "claude-desktop": 3}
    assert "warning: There is no workspace here yet" in run("config", "vscode").out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("claude-code --write --check", "--write and --check do not go together"),
        ("claude-code --check --remove", "--check and --remove do not go together"),
        ("claude-code --force", "--force goes with --write or --remove"),
        ("cursor --user --project", "--user and --project do not go together"),
        ("vscode --user", "--user is not for vscode"),
        ("cursor --project", "--project is not for cursor"),
        ("codex --file A", "--file is not for codex"),
        ("codex --toolsets work,nope", "--toolsets names an unknown toolset"),
        ("codex --agent-id -x-", "--agent-id must be letters"),
        ("codex --http ftp://x", "--http must be a URL"),
        ("emacs", "Invalid value for 'HOST'"),
        ("", "Missing argument 'HOST'"),
    ],
)
def test_what_does_not_fit_is_refused(shop: Path, run: Run, flags: str, message: str) -> None:
    ended = run("config", *flags.split())
    assert (ended.code, ended.out, message in ended.err) == (2, "", True)
    assert list(shop.iterdir()) == [shop / ".metagit"]


def test_a_file_that_is_no_json_is_refused_with_its_place(shop: Path, run: Run) -> None:
    (shop / ".mcp.json").write_text('{"mcpServers": {\n}')
    ended = run("config", "claude-code", "--write", "--json")
    assert (ended.code, ended.record["code"]) == (5, "HOST_FILE_INVALID")
    assert ended.record["message"] == f"{shop}/.mcp.json lacks a comma or a closing brace at line 2 column 2."
    assert (shop / ".mcp.json").read_text() == '{"mcpServers": {\n}'
