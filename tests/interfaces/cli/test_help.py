"""The help texts are part of the interface: a change of one is seen in review, and each teaches by an example."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from metagit_mcp import __version__
from metagit_mcp.interfaces.cli.main import PROGRAM, cli
from tests.interfaces.cli.help_texts import help_texts, walked

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interfaces.cli.conftest import Ended

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "cli_help.txt"
COMMANDS = {
    context.command_path: context.command for context in walked(cli.make_context(PROGRAM, [], resilient_parsing=True))
}


def test_the_help_texts_are_the_recorded_ones() -> None:
    # Changed on purpose? python -m tests.interfaces.cli.help_texts > tests/golden/cli_help.txt
    assert help_texts() == GOLDEN.read_text(encoding="utf-8")


# By the group that they are in.
NAMES = {
    "": "board completion config demo doctor hook init pause resume serve simulate watch",
    "import": "backlog beads taskmaster",
    "group": "answer deliver estimate list outbox show snapshot verify",
    "schedule": "count explain next plan status",
    "schedule policy": "preview set show",
    "schemas": "check export",
    "task": "list plan show update",
    "token": "issue list revoke",
    "work": "approve release report retry review start",
}


def test_the_commands_of_this_version() -> None:
    found: dict[str, list[str]] = {}
    for path in sorted(path for path, each in COMMANDS.items() if not hasattr(each, "commands")):
        group, _, name = path.removeprefix(f"{PROGRAM} ").rpartition(" ")
        found.setdefault(group, []).append(name)
    assert {group: " ".join(names) for group, names in found.items()} == NAMES


def examples(command: click.Command) -> list[str]:
    """The lines of the examples that call this program."""
    return [line.strip() for line in (command.epilog or "").splitlines() if PROGRAM in line]


@pytest.mark.parametrize("path", COMMANDS)
def test_each_help_has_an_example_of_the_command(path: str) -> None:
    assert any(path in line for line in examples(COMMANDS[path]))


@pytest.mark.parametrize("path", COMMANDS)
def test_the_flags_of_an_example_exist(path: str) -> None:
    for line in examples(COMMANDS[path]):
        # What is put into a file is a line too.
        plain = re.sub(r"^echo '(.*)' >>", r"\1 >>", line)
        plain = plain.replace('"$(', " ").replace(')"', " ").replace("$(", " ").replace(")", " ")
        words = shlex.split(plain, comments=True, posix=True)
        words = words[words.index(PROGRAM) + 1 :]
        command: click.Command = cli
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words.pop(0))
            assert found is not None
            command = found
        flags = {flag for parameter in command.params for flag in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= flags, line


def test_every_short_help_is_whole() -> None:
    below = {path: each for path, each in COMMANDS.items() if path != PROGRAM}
    assert [path for path, each in below.items() if each.get_short_help_str(60).endswith("...")] == []


def test_the_version(run: Callable[..., Ended]) -> None:
    assert run("--version").out == f"metagit-mcp {__version__}\n"


def test_help_is_printed_on_standard_output(run: Callable[..., Ended]) -> None:
    ended = run("schedule", "next", "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("Usage: metagit-mcp schedule next [OPTIONS]\n")
