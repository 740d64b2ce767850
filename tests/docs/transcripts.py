"""Runs what the documentation shows at a prompt and compares what is printed.

A block ```console is a session: `$ ` begins a command, `> ` goes on with it, other lines are its output, if any is
shown. `…` in a line stands for what differs from machine to machine, a line `…` for any lines. `$ echo $?` shows the
exit code of the command before; every other command ends with 0. The blocks of a page are one session in one empty
folder, and a block in an HTML comment belongs to it too. What needs more than this program (make, git, an agent host)
is not run, nor is the demo, whose own test compares what pages show of it.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import Block, blocks

PROGRAMS = frozenset({"metagit-mcp", "cat", "printf", "python"})
DEMO = "metagit-mcp demo"
_ANYTHING = "…"


@dataclass(frozen=True)
class Step:
    """One command with the output that the page shows, and its line in the page."""

    command: str
    output: tuple[str, ...]
    line: int

    @property
    def is_run(self) -> bool:
        """Whether a test runs it."""
        return self.command.split(maxsplit=1)[0] in PROGRAMS and self.command != DEMO


def steps(page: Path) -> list[Step]:
    """The commands of a page, in its order."""
    return [step for block in blocks(page) if block.kind == "console" for step in _steps(block)]


def _steps(block: Block) -> Iterator[Step]:
    command: list[str] = []
    output: list[str] = []
    start = block.line
    for number, line in enumerate([*block.text.splitlines(), "$ "], start=block.line):
        if line.startswith("$ "):
            if command:
                yield Step("\n".join(command), tuple(output), start)
            command, output, start = [line[2:]], [], number
        elif line.startswith("> ") and not output:
            command.append(line[2:])
        else:
            output.append(line)


def differences(page: Path, folder: Path) -> list[str]:
    """Where a session differs from what its page shows."""
    found: list[str] = []
    ended = 0
    for step in steps(page):
        if step.command == "echo $?":
            if step.output != (str(ended),):
                found.append(f"line {step.line}: the exit code is {ended}")
            ended = 0
        elif step.is_run:
            found += _untold(ended)
            done = run(step.command, folder)
            ended = done.returncode
            if step.output and not fits(step.output, done.stdout.splitlines()):
                found.append(f"line {step.line}: $ {step.command}\n{done.stdout}")
    return found + _untold(ended)


def _untold(ended: int) -> list[str]:
    return [f"a command ended with {ended}, and the page does not say so"] if ended else []


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run one command in the folder of the session, with this interpreter's programs first."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("METAGIT", "CLAUDE"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**kept, "PATH": path, "HOME": str(folder.parent), "PYTHONUTF8": "1"}
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )


def fits(expected: tuple[str, ...], printed: list[str]) -> bool:
    """Whether printed lines are what a page shows."""
    parts = [
        r"(?:.*\n)*?" if line == _ANYTHING else re.escape(line.rstrip()).replace(_ANYTHING, ".*") + r"[ ]*\n"
        for line in expected
    ]
    return re.fullmatch("".join(parts), "".join(f"{line}\n" for line in printed)) is not None
