"""The commands `task …`: write work down, change it, look at it. Knows no file but those that flags name."""

from typing import Any, Final, get_args

import click

from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.flags import (
    chosen_node,
    example,
    graph_flag,
    node_argument,
    request_flags,
    shared_flags,
    text_flag,
    text_from,
)
from metagit_mcp.interfaces.cli.groups import LazyGroup
from metagit_mcp.interfaces.cli.invocation import Invocation
from metagit_mcp.interfaces.cli.views.task import view_graphs, view_node, view_plan, view_update
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.requests import StatusRequest, TaskPlanRequest, TaskUpdateRequest

_TEXTS: Final = frozenset({"outline", "nodes"})
_STATUSES: Final = [name for arm in get_args(TaskUpdateRequest.__annotations__["status"]) for name in get_args(arm)]


@click.group(
    cls=LazyGroup,
    epilog=example('metagit-mcp task plan --title "Ship login" --outline plan.txt', "metagit-mcp task list"),
)
@shared_flags
def task() -> None:
    """Write work down as task graphs, change nodes, look at them."""


@task.command(
    "plan",
    short_help="Write down new work.",
    epilog=example(
        'metagit-mcp task plan --title "Ship login" --goal "Users can log in" --outline plan.txt',
        "printf 'Design\\nBuild (after: design)\\n' | metagit-mcp task plan --title Login --outline -",
        """metagit-mcp task plan --title Login --graph-id login --nodes '[{"title": "Test it"}]'""",
        "metagit-mcp task plan --title Login --nodes @nodes.json --json",
    ),
)
@request_flags(TaskPlanRequest, without=_TEXTS)
@text_flag(
    "--outline",
    "One task a line, two spaces = child, at its end '(after: id)' = depends on, '(risk: destructive)' = its risk: "
    "a file, - for standard input, or several lines themselves.",
    "FILE|-",
)
@text_flag(
    "--nodes",
    "Instead of an outline: the nodes as a JSON list, @FILE with it, or - for standard input.",
    "JSON|@FILE|-",
)
@shared_flags
@click.pass_obj
def plan_command(invocation: Invocation, /, outline: str | None, nodes: str | None, **flags: Any) -> None:  # noqa: ANN401 - whatever the request has
    """Write down new work: a new graph, or more nodes of an existing one. Nothing is ever replaced."""
    texts = {"outline": text_from(_as_file(outline), "outline"), "nodes": text_from(nodes, "nodes")}
    request = parse_request(TaskPlanRequest, {**flags, **texts})
    answer = finished(invocation.application().tasks.plan(request))
    invocation.show(answer, view_plan(answer))


def _as_file(outline: str | None) -> str | None:
    """A file name has one line; an outline given in place has several."""
    if outline is None or outline == "-" or outline.startswith("@") or "\n" in outline:
        return outline
    return f"@{outline}"


@task.command(
    "update",
    short_help="Change NODE.",
    epilog=example(
        "metagit-mcp task update api --status completed",
        "metagit-mcp task update api --graph-id login --priority 5 --depends-on schema,auth",
        'metagit-mcp task update api --status blocked --blocker-reason "Waiting for the key"',
        "metagit-mcp task update api --clear deadline --depends-on '[]'",
    ),
)
@node_argument
@request_flags(TaskUpdateRequest, without=frozenset({"node_id"}))
@shared_flags
@click.pass_obj
def update_command(invocation: Invocation, /, node: str | None, node_id: str | None, **flags: Any) -> None:  # noqa: ANN401 - whatever the request has
    """Change NODE: its status, or any other field."""
    request = parse_request(TaskUpdateRequest, {**flags, "node_id": chosen_node(node, node_id)})
    answer = finished(invocation.application().tasks.update(request))
    invocation.show(answer, view_update(answer))


@task.command(
    "list",
    short_help="List the task graphs and their nodes.",
    epilog=example("metagit-mcp task list", "metagit-mcp task list --graph-id login --status blocked --json"),
)
@graph_flag
@text_flag("--status", "Only nodes with this status.", f"[{'|'.join(_STATUSES)}]")
@shared_flags
@click.pass_obj
def list_command(invocation: Invocation, graph_id: str | None, status: str | None) -> None:
    """List the task graphs and their nodes. With --json: {"graphs": [...], "warnings": [...]}, never cut."""
    request = parse_request(StatusRequest, {"graph_id": graph_id})
    answer = finished(invocation.application().tasks.list(request.graph_id, _known(status)))
    invocation.show_record(plain(answer), view_graphs(answer))


def _known(status: str | None) -> str | None:
    if status in (None, *_STATUSES):
        return status
    hint = "Leave it out to list every node; a node that is done is completed."
    raise InvalidInput(f"status: should be one of {', '.join(_STATUSES)}", hint=hint, field="status")


@task.command("show", epilog=example("metagit-mcp task show api", "metagit-mcp task show api --graph-id login --json"))
@node_argument
@graph_flag
@shared_flags
@click.pass_obj
def show_command(invocation: Invocation, node: str | None, node_id: str | None, graph_id: str | None) -> None:
    """Show NODE as its file has it. With --json: {"node": {...}}, as after an update."""
    named = parse_request(StatusRequest, {"node_id": chosen_node(node, node_id), "graph_id": graph_id})
    record = finished(invocation.application().tasks.show(str(named.node_id), named.graph_id))
    invocation.show_record({"node": plain(record)}, view_node(record))
