"""The commands `import …`: the lists that other programs keep become task graphs. Knows no format."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.flags import example, request_flags, shared_flags
from metagit_mcp.interfaces.cli.groups import LazyGroup
from metagit_mcp.interfaces.cli.invocation import Invocation
from metagit_mcp.interfaces.cli.views.importing import view_import
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.lists.import_answers import ImportRequest, System

F = TypeVar("F", bound=Callable[..., Any])
_ALWAYS: Final = frozenset({"system", "path"})


@click.group(
    cls=LazyGroup,
    epilog=example(
        "metagit-mcp import beads .",
        "metagit-mcp import taskmaster .taskmaster/tasks/tasks.json --dry-run",
        "metagit-mcp import backlog ../shop/backlog --graph-id shop",
    ),
)
@shared_flags
def import_lists() -> None:
    """Copy the lists that people already have into task graphs.

    The list is only read. Import it again when it changed: what changed there is taken over, what was decided here
    stays, and nothing is ever deleted.
    """


def _flags(*leaving_out: str) -> Callable[[F], F]:
    """Return the flags of a request without those that a list has no use for."""
    return request_flags(ImportRequest, without=_ALWAYS | frozenset(leaving_out))


@import_lists.command(
    "beads",
    short_help="Import the issues of beads.",
    epilog=example(
        "metagit-mcp import beads .",
        "metagit-mcp import beads ../shop/.beads/issues.jsonl --graph-id shop --dry-run",
    ),
)
@click.argument("path")
@_flags("tag", "strict")
@shared_flags
@click.pass_obj
def beads_command(invocation: Invocation, /, path: str, **flags: Any) -> None:  # noqa: ANN401 - whatever the request has
    """Import the issues that beads exported: issues.jsonl, its folder .beads, or the project."""
    _import(invocation, "beads", path, flags)


@import_lists.command(
    "taskmaster",
    short_help="Import the tasks of Task Master.",
    epilog=example(
        "metagit-mcp import taskmaster .",
        "metagit-mcp import taskmaster .taskmaster/tasks/tasks.json --tag master --graph-id shop",
    ),
)
@click.argument("path")
@_flags("strict")
@shared_flags
@click.pass_obj
def taskmaster_command(invocation: Invocation, /, path: str, **flags: Any) -> None:  # noqa: ANN401 - as above
    """Import the tasks of Task Master: tasks.json, its folder .taskmaster, or the project. Each tag becomes a graph."""
    _import(invocation, "taskmaster", path, flags)


@import_lists.command(
    "backlog",
    short_help="Import the tasks of Backlog.md.",
    epilog=example("metagit-mcp import backlog .", "metagit-mcp import backlog ../shop/backlog --strict --json"),
)
@click.argument("path")
@_flags("tag")
@shared_flags
@click.pass_obj
def backlog_command(invocation: Invocation, /, path: str, **flags: Any) -> None:  # noqa: ANN401 - as above
    """Import the tasks of Backlog.md: its folder, or the project."""
    _import(invocation, "backlog", path, flags)


def _import(invocation: Invocation, system: System, path: str, flags: dict[str, Any]) -> None:
    request = parse_request(ImportRequest, {"system": system, "path": path, **flags})
    answer = finished(invocation.application().imports.run(request))
    invocation.show_record(plain(answer), view_import(answer))
