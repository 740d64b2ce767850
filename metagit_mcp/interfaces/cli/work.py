"""The commands `work …`: a person's acts on one node. Knows no file."""

import click

from metagit_mcp.interfaces.cli.confirmation import tell, vouched_by
from metagit_mcp.interfaces.cli.flags import (
    chosen_node,
    example,
    graph_flag,
    node_argument,
    operator_flag,
    shared_flags,
)
from metagit_mcp.interfaces.cli.groups import LazyGroup
from metagit_mcp.interfaces.cli.invocation import Invocation, finished
from metagit_mcp.interfaces.cli.views_task import summary, view_approval
from metagit_mcp.wire.requests import StatusRequest, parse_request


@click.group(cls=LazyGroup, epilog=example("metagit-mcp work approve deploy --graph-id login"))
@shared_flags
def work() -> None:
    """Do a person's part in the work on a node."""


@work.command(
    "approve",
    short_help="Approve NODE, so that it may run.",
    epilog=example(
        "metagit-mcp work approve deploy",
        "metagit-mcp work approve deploy --graph-id login --operator ada",
    ),
)
@node_argument
@graph_flag
@operator_flag
@shared_flags
@click.pass_obj
def approve_command(
    invocation: Invocation, node: str | None, node_id: str | None, graph_id: str | None, operator: str | None
) -> None:
    """Approve NODE as it is now, so that it may run.

    At a terminal you are shown the node and type its id; without one, --operator NAME says who approves. A later
    change of the node's title, dependencies, repository or risk asks again.
    """
    named = parse_request(StatusRequest, {"node_id": chosen_node(node, node_id), "graph_id": graph_id})
    application = invocation.application()
    found, digest = finished(application.work.approvable(str(named.node_id), named.graph_id))
    tell(summary(found))
    person = vouched_by(operator, [found.node_id], "approve it")
    answer = finished(application.work.approve(found.node_id, found.graph_id, person, digest))
    invocation.show(answer, view_approval(answer))
