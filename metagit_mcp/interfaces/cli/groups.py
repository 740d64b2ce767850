"""Groups of commands that load a command's module only when it is called, and name the nearest to one they lack.

It must not import any command: a start pays for the command it runs, not for the others.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from metagit_mcp.domain.text import nearest, shown
from metagit_mcp.errors import InvalidInput


class LazyGroup(click.Group):
    """A group whose `parts` say where each command is, as `module:attribute`."""

    def __init__(self, *args: Any, parts: Mapping[str, str] | None = None, **kwargs: Any) -> None:  # noqa: ANN401 - click's
        """Keep the table; nothing is imported."""
        super().__init__(*args, **kwargs)
        self._parts = parts or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands, in the order in which somebody new needs them."""
        return [*self.commands, *self._parts]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Return the command, loading it if need be."""
        if cmd_name not in self._parts:
            return self.commands.get(cmd_name)
        module, _, attribute = self._parts[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, and its arguments.

        Raises:
            InvalidInput: there is no such command; the nearest is named.
        """
        name, known = args[0], self.list_commands(ctx)
        if name in known or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        hint = f"Did you mean {ctx.command_path} {nearest(name, known)}? Known: {', '.join(known)}."
        raise InvalidInput(f"unknown command {shown(name, 40)}", hint=hint, field="command")
