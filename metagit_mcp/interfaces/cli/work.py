"""The commands `work …`: take one node, report on it, and a person's acts on one node. Knows no file."""

from typing import TYPE_CHECKING, Any, Final

import click

from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.confirmation import tell, vouched_by
from metagit_mcp.interfaces.cli.flags import (
    chosen_lease,
    chosen_node,
    example,
    graph_flag,
    lease_argument,
    node_argument,
    operator_flag,
    request_flags,
    shared_flags,
    text_flag,
    text_flags,
    texts_from,
)
from metagit_mcp.interfaces.cli.groups import LazyGroup
from metagit_mcp.interfaces.cli.invocation import Invocation
from metagit_mcp.interfaces.cli.views.task import summary, view_approval
from metagit_mcp.interfaces.cli.views.work import view_report, view_standing, view_start
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.requests import StatusRequest, WorkReportRequest, WorkStartRequest
from metagit_mcp.wire.responses import NodeRecord

if TYPE_CHECKING:
    from metagit_mcp.bootstrap import Application

_OBJECTS: Final = {
    "result": 'What finished work left behind: {"summary": ..., "artifacts": [...], "evidence": [...]}.',
    "checkpoint": 'From where the work can go on: {"note": ..., "uri": ..., "digest": ..., "checkpoint_id": ...}.',
    "usage": 'Used under this lease so far, in all: {"tokens": ..., "tool_calls": ..., "seconds": ...}.',
    "rate_limited": 'With failed: a resource turned you away; costs no attempt: {"resource": ..., "until": ...}.',
}


@click.group(
    cls=LazyGroup,
    epilog=example(
        "metagit-mcp work start api --graph-id login",
        "metagit-mcp work report L-K7Q2M4XABCDE --state completed",
        "metagit-mcp work approve deploy --graph-id login",
    ),
)
@shared_flags
def work() -> None:
    """Take a node, report on it; approve, review, take it back."""


# --- the work of an agent --------------------------------------------------------------------------------------------


@work.command(
    "start",
    short_help="Take NODE under a lease.",
    epilog=example(
        "metagit-mcp work start api --json",
        "metagit-mcp work start api --graph-id login --agent-id agent-1 --lease-seconds 3600",
        "metagit-mcp work start api --queue-only",
    ),
)
@node_argument
@request_flags(WorkStartRequest, without=frozenset({"node_id"}))
@shared_flags
@click.pass_obj
def start_command(invocation: Invocation, /, node: str | None, node_id: str | None, **flags: Any) -> None:  # noqa: ANN401 - whatever the request has
    """Take NODE, to work on it now or (--queue-only) later. The lease that it prints is named in every report."""
    request = parse_request(WorkStartRequest, {**flags, "node_id": chosen_node(node, node_id)})
    answer = finished(invocation.application().work.start(request))
    invocation.show(answer, view_start(answer))


@work.command(
    "report",
    short_help="Say how the work under LEASE stands.",
    epilog=example(
        "metagit-mcp work report L-K7Q2M4XABCDE --state running",
        """metagit-mcp work report L-K7Q2M4XABCDE --state completed --result '{"summary": "It runs"}'""",
        "metagit-mcp work report L-K7Q2M4XABCDE --state completed --result @result.json --json",
        'metagit-mcp work report L-K7Q2M4XABCDE --state blocked --note "Waiting for the key"',
    ),
)
@lease_argument
@request_flags(WorkReportRequest, without=frozenset({"lease_id", *_OBJECTS}))
@text_flags(_OBJECTS)
@shared_flags
@click.pass_obj
def report_command(invocation: Invocation, /, lease: str | None, lease_id: str | None, **flags: Any) -> None:  # noqa: ANN401 - whatever the request has
    """Say how the work under LEASE stands: it goes on, is done, cannot go on, failed, or is given back."""
    named = {"lease_id": chosen_lease(lease, lease_id)}
    request = parse_request(WorkReportRequest, {**flags, **texts_from(flags, _OBJECTS), **named})
    answer = finished(invocation.application().work.report(request))
    invocation.show(answer, view_report(answer))


# --- a person's acts -------------------------------------------------------------------------------------------------


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
    named = _named(node, node_id, graph_id)
    application = invocation.application()
    found, digest = finished(application.rules.approvable(str(named.node_id), named.graph_id))
    person = _person(operator, found, "approve it")
    answer = finished(application.rules.approve(found.node_id, found.graph_id, person, digest))
    invocation.show(answer, view_approval(answer))


@work.command(
    "review",
    short_help="Accept or reject the result of NODE.",
    epilog=example(
        "metagit-mcp work review api --accept",
        'metagit-mcp work review api --graph-id login --reject --note "The test is missing" --operator ada',
    ),
)
@node_argument
@graph_flag
@click.option("--accept", is_flag=True, help="The result is taken; the node is completed.")
@click.option("--reject", is_flag=True, help="The node is to be done again; say in --note what is wrong.")
@text_flag("--note", "What whoever tries next is told.")
@operator_flag
@shared_flags
@click.pass_obj
def review_command(invocation: Invocation, /, accept: bool, reject: bool, note: str | None, **flags: Any) -> None:  # noqa: ANN401 - who and which node, as with every act
    """Accept the submitted result of NODE, or reject it.

    Your name is recorded; without a terminal, --operator NAME says who judges.
    """
    if accept == reject:
        raise InvalidInput("say either --accept or --reject", field="accept")
    if reject and note is None:
        raise InvalidInput("note: say what is wrong with the result", hint="Add --note TEXT.", field="note")
    application, found, person = _act(invocation, flags, "review it", typed=False)
    given = application.work.review(found.node_id, found.graph_id, person, accept=accept, note=note or "")
    answer = finished(given)
    invocation.show(answer, view_standing(answer))


@work.command(
    "release",
    short_help="Take NODE from whoever has it.",
    epilog=example(
        "metagit-mcp work release api --force",
        'metagit-mcp work release api --graph-id login --force --note "The agent hangs" --operator ada',
    ),
)
@node_argument
@graph_flag
@click.option("--force", is_flag=True, help="Needed: whoever works on it is not asked, and its lease ends.")
@text_flag("--note", "Why; whoever tries next is told.")
@operator_flag
@shared_flags
@click.pass_obj
def release_command(invocation: Invocation, /, force: bool, note: str | None, **flags: Any) -> None:  # noqa: ANN401 - who and which node, as with every act
    """Take NODE from whoever has it: its lease ends at once, and what its agent reports later has no effect.

    At a terminal you type the node's id; without one, --operator NAME says who takes it back.
    """
    if not force:
        hint = "Add --force, or let the agent give it back: metagit-mcp work report LEASE --state released."
        raise InvalidInput("a node is taken from its agent only with --force", hint=hint, field="force")
    application, found, person = _act(invocation, flags, "take it back", typed=True)
    answer = finished(application.work.release(found.node_id, found.graph_id, person, note or ""))
    invocation.show(answer, view_standing(answer))


@work.command(
    "retry",
    short_help="Let NODE be tried again that failed too often.",
    epilog=example("metagit-mcp work retry api", "metagit-mcp work retry api --graph-id login --operator ada"),
)
@node_argument
@graph_flag
@operator_flag
@shared_flags
@click.pass_obj
def retry_command(invocation: Invocation, /, **flags: Any) -> None:  # noqa: ANN401 - who and which node, as with every act
    """Let NODE be tried again after it failed as often as it may; its failures are forgotten.

    Your name is recorded; without a terminal, --operator NAME says who decides it.
    """
    application, found, person = _act(invocation, flags, "let it be tried again", typed=False)
    answer = finished(application.work.retry(found.node_id, found.graph_id, person))
    invocation.show(answer, view_standing(answer))


def _named(node: str | None, node_id: str | None, graph_id: str | None) -> StatusRequest:
    return parse_request(StatusRequest, {"node_id": chosen_node(node, node_id), "graph_id": graph_id})


def _act(
    invocation: Invocation, flags: dict[str, Any], act: str, *, typed: bool
) -> "tuple[Application, NodeRecord, str]":
    """Return the use cases, the node that is meant, and who answers for the act."""
    named = _named(flags["node"], flags["node_id"], flags["graph_id"])
    application = invocation.application()
    found = finished(application.tasks.show(str(named.node_id), named.graph_id))
    return application, found, _person(flags["operator"], found, act, typed=typed)


def _person(operator: str | None, node: NodeRecord, act: str, *, typed: bool = True) -> str:
    tell(summary(node))
    return vouched_by(operator, [node.node_id], act, typed=typed)
