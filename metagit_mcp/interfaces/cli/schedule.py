"""The commands `schedule …`: each reads its flags, asks one question and shows the answer. Knows no file."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.confirmation import tell
from metagit_mcp.interfaces.cli.exits import FINE, NOTHING_RUNNABLE, PERSON_NEEDED, may_change_by_itself, needs_person
from metagit_mcp.interfaces.cli.flags import (
    chosen_node,
    example,
    graph_flag,
    names_flag,
    node_argument,
    request_flags,
    shared_flags,
    text_flag,
)
from metagit_mcp.interfaces.cli.groups import LazyGroup
from metagit_mcp.interfaces.cli.invocation import Invocation, mind_interrupts
from metagit_mcp.interfaces.cli.output import say
from metagit_mcp.interfaces.cli.views.schedule import counted, view_explanation, view_next, view_status
from metagit_mcp.interfaces.cli.wording import for_people
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.requests import NextRequest, StatusRequest
from metagit_mcp.wire.responses import NextAnswer

if TYPE_CHECKING:
    from metagit_mcp.bootstrap import Application


@click.group(
    cls=LazyGroup,
    parts={"policy": "metagit_mcp.interfaces.cli.policy:policy"},
    epilog=example("metagit-mcp schedule next", "metagit-mcp schedule explain api"),
)
@shared_flags
def schedule() -> None:
    """Ask what to work on next, how things stand, and why."""


@schedule.command(
    "next",
    short_help="Say which nodes to work on next, and why.",
    epilog=example(
        "metagit-mcp schedule next --json",
        "metagit-mcp schedule next --claim --agent-id agent-1 --wait-seconds 60",
        "metagit-mcp schedule next --limit 3 --preview --agent-id agent-1",
        "metagit-mcp schedule next --limit 20 --detail brief --json",
        'node=$(metagit-mcp schedule next --json) || exit "$?"',
    ),
)
@request_flags(NextRequest)
@shared_flags
@click.pass_obj
def next_command(invocation: Invocation, /, **flags: Any) -> int:  # noqa: ANN401 - whatever the request has
    """Say which nodes to work on next, and why; with --claim take them, each under a lease.

    Ends with 0 when there is work, 10 when nothing can be started now, 11 when only a person can change that. Then
    --json prints the answer all the same, and the reasons on standard error.
    """
    request = parse_request(NextRequest, flags)
    application = invocation.application()
    if request.wait_seconds:
        mind_interrupts()
        tell(f"Waits up to {counted(request.wait_seconds, 'second')} if there is no work; Ctrl-C ends it.")
    answer = finished(application.schedule.next(request))
    invocation.show(answer, view_next(answer))
    # Whoever holds leases has work, even if there is none more.
    if answer.decisions or answer.held:
        return FINE
    if invocation.as_json:
        # `node=$(…)` keeps the answer from whoever reads along.
        say(for_people(answer.next_step))
    return _idle(application, request, answer)


def _idle(application: "Application", request: NextRequest, answer: NextAnswer) -> int:
    """Tell the idleness that passes from the one that a person has to end."""
    if may_change_by_itself(answer):
        return NOTHING_RUNNABLE
    about = StatusRequest(graph_id=request.graph_id, recent=0)
    status = finished(application.schedule.status(about))
    return PERSON_NEEDED if needs_person(answer, status) else NOTHING_RUNNABLE


@schedule.command(
    "status",
    short_help="Show how things stand.",
    epilog=example(
        "metagit-mcp schedule status",
        "metagit-mcp schedule status --watch",
        "metagit-mcp schedule status --graph-id login --recent 3 --json",
    ),
)
@request_flags(StatusRequest)
@click.option("--watch", is_flag=True, help="Show it again when something changed, at most once a second.")
@shared_flags
@click.pass_obj
def status_command(invocation: Invocation, /, watch: bool, **flags: Any) -> None:  # noqa: ANN401 - whatever the request has
    """Show how things stand: counts, Groups with their shares, running work, what waits for a person, decisions.

    With --watch it is shown in place, or below one another where it is no terminal; Ctrl-C ends it.
    """
    request = parse_request(StatusRequest, flags)
    schedule = invocation.application().schedule
    if not watch:
        answer = finished(schedule.status(request))
        invocation.show(answer, view_status(answer))
        return
    mind_interrupts()
    # Whoever has seen enough says so like this; it is no failure.
    with suppress(KeyboardInterrupt):
        finished(schedule.follow_status(request, lambda told: invocation.show_anew(told, view_status(told))))


@schedule.command(
    "explain",
    short_help="Say why NODE may, or may not, run now.",
    epilog=example("metagit-mcp schedule explain api", "metagit-mcp schedule explain api --graph-id login --json"),
)
@node_argument
@request_flags(StatusRequest, without=frozenset({"node_id"}))
@shared_flags
@click.pass_obj
def explain_command(invocation: Invocation, /, node: str | None, node_id: str | None, **flags: Any) -> None:  # noqa: ANN401 - whatever the request has
    """Say why NODE may, or may not, be started now: every reason for and against it.

    With --json the whole answer of `schedule status --node-id NODE`.
    """
    request = parse_request(StatusRequest, {**flags, "node_id": chosen_node(node, node_id)})
    answer = finished(invocation.application().schedule.status(request))
    invocation.show(answer, view_explanation(answer))


@schedule.command(
    "count",
    short_help="Print how many nodes could be started now.",
    epilog=example(
        "metagit-mcp schedule count --runnable",
        "metagit-mcp schedule count --runnable --graph-id login",
        "metagit-mcp schedule count --runnable --capabilities python,gpu",
    ),
)
@click.option("--runnable", is_flag=True, help="Count the nodes that could be started now; this is the default.")
@graph_flag
@text_flag("--agent-id", "Count what this agent could start.")
@names_flag("--capabilities", "Count what an agent could start that can do this.")
@shared_flags
@click.pass_obj
def count_command(invocation: Invocation, /, runnable: bool, **flags: Any) -> None:  # noqa: ANN401 - as above
    """Print one number: how many nodes could be started now, each by itself.

    Where slots or resources let fewer start together, `schedule next --limit` gives as many as could.
    """
    del runnable
    request = parse_request(NextRequest, flags)
    counting = invocation.application().schedule.count_runnable(
        request.graph_id, request.agent_id, request.capabilities
    )
    count = finished(counting)
    invocation.show_record({"runnable_count": count}, [str(count)])


@schedule.command(
    "plan",
    short_help="Draw what waits for what.",
    epilog=example("metagit-mcp schedule plan --mermaid", "metagit-mcp schedule plan --mermaid --graph-id login"),
)
@click.option("--mermaid", is_flag=True, help="Draw it as a Mermaid flowchart; this is the default.")
@graph_flag
@shared_flags
@click.pass_obj
def plan_command(invocation: Invocation, mermaid: bool, graph_id: str | None) -> None:
    """Draw a task graph, or all active ones, with what waits for what."""
    del mermaid
    request = parse_request(NextRequest, {"graph_id": graph_id})
    drawing = finished(invocation.application().schedule.mermaid(request.graph_id))
    invocation.show_record({"mermaid": drawing}, drawing.splitlines())
