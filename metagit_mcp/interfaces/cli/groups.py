"""Groups of commands that load a command's module only when it is called, and say what a slip may mean.

It must not import any command: a start pays for the command it runs, not for the others.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

import click

from metagit_mcp.domain.text import close_words, shown
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
            InvalidInput: there is no such command; names the one that may be meant.
        """
        name, known = args[0], self.list_commands(ctx)
        if name in known or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        hint = f"{_suggestion(name, self, ctx)}Known: {', '.join(known)}."
        raise InvalidInput(f"unknown command {shown(name, 40)}", hint=hint, field="command")


# --- what was meant ------------------------------------------------------------------------------------------------

_MOST_SUGGESTED: Final = 3


def _suggestion(name: str, group: click.Group, ctx: click.Context) -> str:
    """Return the question after a command of this group, or else of the whole program, that a name may stand for."""
    near = close_words(name, group.list_commands(ctx))
    if near:
        return f"Did you mean {ctx.command_path} {near[0]}? "
    root = ctx.find_root()
    paths = list(_paths(root.command, root, (str(root.info_name),)))
    best = close_words(name, dict.fromkeys(path[-1] for path in paths))
    meant = [" ".join(path) for path in paths if path[-1] in best][:_MOST_SUGGESTED]
    return f"Did you mean {' or '.join(meant)}? " if meant else ""


def _paths(command: click.Command, ctx: click.Context, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the way to every command, which loads them all; only a mistake is answered so slowly."""
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            if below is not None:
                yield (*path, name)
                yield from _paths(below, ctx, (*path, name))
