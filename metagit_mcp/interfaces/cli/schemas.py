"""The commands `schemas …`: write the JSON Schemas of everything that is read and answered, or check them."""

import click

from metagit_mcp.interfaces.cli.flags import example, json_flag
from metagit_mcp.interfaces.cli.groups import LazyGroup
from metagit_mcp.interfaces.cli.invocation import Invocation

_DEFAULT = "schemas"


@click.group(cls=LazyGroup, epilog=example("metagit-mcp schemas export"))
@json_flag
def schemas() -> None:
    """Write the JSON Schemas, or check them."""


@schemas.command("export", epilog=example("metagit-mcp schemas export", "metagit-mcp schemas export build/schemas"))
@click.argument("folder", default=_DEFAULT)
@json_flag
@click.pass_obj
def export_command(invocation: Invocation, folder: str) -> None:
    """Write all schemas into FOLDER (default: schemas)."""
    from metagit_mcp.bootstrap import export_schemas

    _show(invocation, folder, export_schemas(folder), "written")


@schemas.command(
    "check",
    short_help="Compare FOLDER (default: schemas) with the program.",
    epilog=example("metagit-mcp schemas check", "metagit-mcp schemas check build/schemas"),
)
@click.argument("folder", default=_DEFAULT)
@json_flag
@click.pass_obj
def check_command(invocation: Invocation, folder: str) -> None:
    """Compare FOLDER (default: schemas) with the program; ends with 2 when a schema differs."""
    from metagit_mcp.bootstrap import check_schemas

    _show(invocation, folder, check_schemas(folder), "current")


def _show(invocation: Invocation, folder: str, names: list[str], state: str) -> None:
    record = {"folder": folder, "state": state, "files": names}
    invocation.show_record(record, [f"{len(names)} schemas in {folder} {state}"])
