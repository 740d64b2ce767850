"""What a shell completes: commands, flags, their values, and the ids of the workspace that is at hand."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest
from click.shell_completion import ShellComplete

from metagit_mcp.errors import WorkspaceNotFound
from metagit_mcp.interfaces.cli.completion import VARIABLE
from metagit_mcp.interfaces.cli.invocation import Invocation
from metagit_mcp.interfaces.cli.main import PROGRAM, cli
from tests import ready
from tests.interfaces.cli.fake_runs import ROOT, WAIT_S, environment
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from metagit_mcp.bootstrap import Application
    from tests.interfaces.cli.conftest import Ended


@pytest.fixture(scope="module")
def opener(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Mapping[str, Any]], Application]:
    """Return what opens a workspace of two graphs in which an agent works."""
    root = tmp_path_factory.mktemp("completion")
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(root)
    desk.graph("login", node("api"), node("web"))
    desk.graph("logs", node("apt"))
    desk.taken("worker-1")
    return lambda _: desk.application


def completed(opener: Callable[[Mapping[str, Any]], Application], line: str) -> list[str]:
    """The words that a shell would offer for the last word of a line."""
    *words, last = line.split(" ")
    shell = ShellComplete(cli, {"obj": Invocation(opener)}, PROGRAM, VARIABLE)
    return [item.value for item in shell.get_completions(words, last)]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sch", ["schedule", "schemas"]),
        ("schedule ex", ["explain"]),
        ("schedule status --wa", ["--watch"]),
        ("schedule next --detail ", ["brief", "full"]),
        ("work report L --state p", ["paused"]),
        ("schedule next --graph-id lo", ["login", "logs"]),
        ("schedule status --after-group logi", ["login"]),
        ("schedule explain ap", ["api", "apt"]),
        ("schedule explain --graph-id logs ap", ["apt"]),
        ("group estimate login w", ["web"]),
        ("schedule next --agent-id w", ["worker-1"]),
        ("completion z", ["zsh"]),
    ],
)
def test_what_is_offered(opener: Callable[[Mapping[str, Any]], Application], line: str, offered: list[str]) -> None:
    assert completed(opener, line) == offered


def test_without_a_workspace_nothing_is_offered_and_nothing_fails() -> None:
    def opener(_: Mapping[str, Any]) -> Application:
        raise WorkspaceNotFound

    assert completed(opener, "schedule explain a") == []
    shell = ShellComplete(cli, {}, PROGRAM, VARIABLE)
    assert shell.get_completions(["schedule", "explain"], "a") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_asks_this_program(run: Callable[..., Ended], shell: str) -> None:
    ended = run("completion", shell)
    assert (ended.code, ended.out.count(f"{VARIABLE}={shell}_complete"), ended.err) == (0, 1, "")
    record = run("completion", shell, "--json").record
    assert (record["shell"], record["script"].split()) == (shell, ended.out.split())


def test_another_shell_is_refused(run: Callable[..., Ended]) -> None:
    ended = run("completion", "cmd")
    assert (ended.code, "'bash', 'zsh', 'fish'" in ended.err) == (2, True)


def test_bash_itself_completes_with_it(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    program = tmp_path / PROGRAM
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m metagit_mcp "$@"\n')
    program.chmod(0o755)
    script = (
        f'eval "$({PROGRAM} completion bash)"; COMP_WORDS=({PROGRAM} sche); COMP_CWORD=1; '
        f'_metagit_mcp_completion {PROGRAM}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    done = ready.run(
        [bash, "-c", script], capture_output=True, env=environment(PATH=path), cwd=ROOT, timeout=WAIT_S, check=False
    )
    assert done.stdout.decode().split() == ["schedule", "schemas"]
