"""The commands for the first five minutes: `init` makes a workspace, `demo` shows one at work.

It must not know what makes a folder a workspace.
"""

from importlib import import_module
from typing import Final

import click

from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.cli.flags import example, shared_flags
from metagit_mcp.interfaces.cli.invocation import Invocation

_NEXT_STEP: Final = "Write work down: metagit-mcp task plan --title TITLE --outline FILE"


@click.command(epilog=example("metagit-mcp init", "metagit-mcp init ~/projects/shop"))
@click.argument("path", required=False)
@click.option("--nested", is_flag=True, help="Make one also in a folder that belongs to a workspace already.")
@shared_flags
@click.pass_obj
def init(invocation: Invocation, path: str | None, nested: bool) -> None:
    """Make PATH (default: this folder) a workspace. Nothing that is there is changed."""
    from metagit_mcp.bootstrap import init_workspace

    place, made = init_workspace(_folder(invocation.workspace if path is None else path), nested=nested)
    record = {"workspace": place.path, "made": list(made), "next_step": _NEXT_STEP}
    done = f"is a workspace now; made {', '.join(made)}" if made else "was a workspace already"
    invocation.show_record(record, [f"{place.path} {done}", f"next step: {_NEXT_STEP}"])


def _folder(path: str | None) -> str:
    if path is None:
        return "."
    if not path or "\0" in path:
        raise InvalidInput("PATH is empty or no path", hint="Leave it out to mean this folder.", field="path")
    return path


@click.command(short_help="Show an example workspace at work.", epilog=example("metagit-mcp demo"))
def demo() -> int:
    """Schedule an example workspace over MCP and print what an agent sees; ends with 1 if a fact differs."""
    # By name: the example drives the server as a client, and no other command should ever load that.
    ended: int = import_module("metagit_mcp.interfaces.demo").main()
    return ended
