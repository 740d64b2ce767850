"""Every help text of the command line as one text, recorded in tests/golden/cli_help.txt.

Run as a script it prints the text. It must not know any command; it walks the groups.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from metagit_mcp.interfaces.cli.main import PROGRAM, cli

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 80


def help_texts() -> str:
    """Return the help of the program and of each of its commands, as a terminal of 80 columns shows it."""
    top = cli.make_context(PROGRAM, [], resilient_parsing=True, terminal_width=WIDTH)
    return "\n\n".join(f"$ {context.command_path} --help\n{context.get_help()}" for context in walked(top)) + "\n"


def walked(context: click.Context) -> Iterator[click.Context]:
    """Yield the context and those of all commands below."""
    yield context
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            below = command.make_context(name, [], context, resilient_parsing=True, terminal_width=WIDTH)
            yield from walked(below)


if __name__ == "__main__":
    sys.stdout.write(help_texts())
