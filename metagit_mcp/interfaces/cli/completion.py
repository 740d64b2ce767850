"""The command `completion`: what a shell reads to complete the others. Knows no workspace."""

from typing import Final

import click

from metagit_mcp.interfaces.cli.flags import example, json_flag
from metagit_mcp.interfaces.cli.invocation import Invocation

_PROGRAM: Final = "metagit-mcp"
# The variable by which a shell asks the program, as click names it.
VARIABLE: Final = "_METAGIT_MCP_COMPLETE"
_SHELLS: Final = ("bash", "zsh", "fish")


@click.command(
    short_help="Print what makes a shell complete the commands.",
    epilog=example(
        "echo 'eval \"$(metagit-mcp completion bash)\"' >> ~/.bashrc",
        "echo 'eval \"$(metagit-mcp completion zsh)\"' >> ~/.zshrc",
        "metagit-mcp completion fish > ~/.config/fish/completions/metagit-mcp.fish",
    ),
)
@click.argument("shell", type=click.Choice(_SHELLS))
@json_flag
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete commands, flags, their values, and the ids of the workspace."""
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is None:  # pragma: no cover - click knows each of the three
        raise AssertionError
    script = made(context.find_root().command, {}, _PROGRAM, VARIABLE).source()
    context.ensure_object(Invocation).show_record({"shell": shell, "script": script}, script.splitlines())
