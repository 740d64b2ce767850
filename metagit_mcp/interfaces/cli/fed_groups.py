"""The commands `group …`: what is done with Groups that are fed by Events. Knows no ledger."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.exits import FINE, FOUND_WRONG
from metagit_mcp.interfaces.cli.flags import example, known_ids, shared_flags, text_flag
from metagit_mcp.interfaces.cli.groups import LazyGroup
from metagit_mcp.interfaces.cli.invocation import Invocation, mind_interrupts
from metagit_mcp.interfaces.cli.views.groups import (
    view_answered,
    view_batch,
    view_estimate,
    view_group,
    view_groups,
    view_outbox,
    view_progress,
    view_snapshot,
    view_verified,
)
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.estimate_answers import EstimateRequest
from metagit_mcp.wire.group_answers import DeliverAnswer
from metagit_mcp.wire.group_requests import group_id_from

if TYPE_CHECKING:
    from metagit_mcp.interfaces.cli.delivering import Delivery

_MOST: Final = 2**53


@click.group(
    cls=LazyGroup,
    epilog=example(
        "metagit-mcp group deliver events.jsonl --group group:auth",
        "metagit-mcp group show group:auth",
        "metagit-mcp group outbox group:auth --json",
    ),
)
@shared_flags
def group() -> None:
    """Deliver the logs of Groups, and see how they stand."""


@group.command(
    "deliver",
    short_help="Take in the Events in FILE.",
    epilog=example(
        "metagit-mcp group deliver events.jsonl --group group:auth",
        "metagit-mcp group deliver events.jsonl --group group:auth --follow --json",
        "tail -n +1 -f events.jsonl | metagit-mcp group deliver - --group group:auth",
    ),
)
@click.argument("file")
@click.option("--group", "group_id", metavar="GROUP", required=True, help="The Group whose log this is.")
@click.option(
    "--first-sequence",
    type=click.IntRange(1, _MOST),
    metavar="N",
    help="The first sequence that may be seen, where the log does not begin at 1.",
)
@click.option("--filtered", is_flag=True, help="An attention filter leaves Events out, so that nothing is missing.")
@click.option("--follow", is_flag=True, help="Go on with what is written to FILE later. Ctrl-C ends it.")
@shared_flags
@click.pass_obj
def deliver_command(
    invocation: Invocation, file: str, group_id: str, first_sequence: int | None, filtered: bool, follow: bool
) -> None:
    """Take in the Events in FILE (- is standard input): JSON, one on a line, in any order, as often as you like.

    They go in batches of at most 1,000, and a batch is acknowledged only when it is durable; with --json by one line
    each. After an error or a kill deliver the same file again: what is known is counted, not repeated.
    """
    from metagit_mcp.interfaces.cli.delivering import Delivery
    from metagit_mcp.interfaces.cli.event_lines import EventLines
    from metagit_mcp.wire.group_texts import LONGEST_EVENT

    named = group_id_from(group_id)
    with closing(EventLines(file, LONGEST_EVENT, follows=follow)) as lines:
        groups = invocation.application().groups
        take_in = partial(groups.take_in, named, first=first_sequence, filtered=filtered or None)
        tell = partial(_tell, invocation, each_batch=follow)
        delivery = Delivery(lines, take_in, tell)
        with _summary(invocation, delivery):
            if follow:
                mind_interrupts()
                finished(groups.follow(delivery.step, lambda: delivery.is_heard))
            else:
                with _bar(lines.size) as moved_to:
                    while delivery.step() and delivery.is_heard:
                        moved_to(delivery.read_to)


@contextmanager
def _summary(invocation: Invocation, delivery: "Delivery") -> Iterator[None]:
    """Tell people at the end what became of all of it, also where it ends with an error or by Ctrl-C."""
    is_done = False
    try:
        yield
        is_done = True
    finally:
        if not invocation.as_json and (is_done or delivery.progress.line):
            invocation.show_record({}, view_progress(delivery.progress))


def _tell(invocation: Invocation, answer: DeliverAnswer, line: int, *, each_batch: bool) -> bool:
    if invocation.as_json or each_batch:
        return invocation.show_record(plain(answer), view_batch(answer, line))
    return True


@contextmanager
def _bar(size: int | None) -> Iterator[Any]:
    """Show on a terminal how far a file of known size is delivered."""
    if not size or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=size, file=sys.stderr, label="delivering") as bar:
        yield lambda at: bar.update(at - bar.pos)


@group.command("list", short_help="List the Groups fed by Events.", epilog=example("metagit-mcp group list --json"))
@shared_flags
@click.pass_obj
def list_command(invocation: Invocation) -> None:
    """List the Groups that are fed by Events: Cursor, what is held and missing, WorkItems, outbox."""
    answer = finished(invocation.application().groups.listed())
    invocation.show_record(plain(answer), view_groups(answer))


@group.command("show", short_help="Show how GROUP stands.", epilog=example("metagit-mcp group show group:auth"))
@click.argument("group_id", metavar="GROUP", shell_complete=known_ids)
@shared_flags
@click.pass_obj
def show_command(invocation: Invocation, group_id: str) -> None:
    """Show how GROUP stands: Cursor, what is held and missing, WorkItems by state, outbox."""
    answer = finished(invocation.application().groups.shown(group_id_from(group_id)))
    invocation.show_record(plain(answer), view_group(answer))


@group.command(
    "outbox",
    short_help="Show what GROUP is to be asked for.",
    epilog=example("metagit-mcp group outbox group:auth --json"),
)
@click.argument("group_id", metavar="GROUP", shell_complete=known_ids)
@shared_flags
@click.pass_obj
def outbox_command(invocation: Invocation, group_id: str) -> None:
    """Show the Commands that GROUP is to be asked for, oldest first; with --json as they are to be sent.

    A Command stays as it is, under its action id, until an Event of the Group answers it or group answer does.
    """
    answer = finished(invocation.application().groups.outbox(group_id_from(group_id)))
    invocation.show_record(plain(answer), view_outbox(answer))


@group.command(
    "estimate",
    short_help="Say when work of GROUP is done.",
    epilog=example("metagit-mcp group estimate group:auth", "metagit-mcp group estimate group:auth auth:build --json"),
)
@click.argument("group_id", metavar="GROUP", shell_complete=known_ids)
@click.argument("node_id", metavar="[NODE]", required=False, shell_complete=known_ids)
@shared_flags
@click.pass_obj
def estimate_command(invocation: Invocation, group_id: str, node_id: str | None) -> None:
    """Say when the work of GROUP, or one NODE of it, will start and be done, as that Group may be told.

    GROUP may be a task graph too. The answer rests on its own queue alone.
    """
    request = parse_request(EstimateRequest, {"group_id": group_id, "node_id": node_id})
    answer = finished(invocation.application().groups.estimate(request))
    invocation.show(answer, view_estimate(answer))


@group.command(
    "answer",
    short_help="Say what became of a Command.",
    epilog=example(
        "metagit-mcp group answer group:auth L-K7Q2M4XABCDE:start refused --reason 'stale epoch'",
        "metagit-mcp group answer group:auth estimate:build:1764547200000000 delivered",
    ),
)
@click.argument("group_id", metavar="GROUP", shell_complete=known_ids)
@click.argument("action_id", metavar="ACTION_ID")
@click.argument("outcome", type=click.Choice(["delivered", "refused"]))
@text_flag("--reason", "Why it was refused.")
@shared_flags
@click.pass_obj
def answer_command(
    invocation: Invocation, group_id: str, action_id: str, outcome: Literal["delivered", "refused"], reason: str | None
) -> None:
    """Say what GROUP made of the Command with ACTION_ID, where no Event tells.

    Refused: what an agent did here on the strength of it is undone. Delivered: a Command that no Event answers, such
    as an estimate, leaves the outbox; any other stays until its Event comes.
    """
    answer = finished(invocation.application().groups.answer(group_id_from(group_id), action_id, outcome, reason or ""))
    invocation.show_record(plain(answer), view_answered(answer))


@group.command(
    "verify",
    short_help="Compare the ledger with the live state.",
    epilog=example("metagit-mcp group verify", "metagit-mcp group verify group:auth --json"),
)
@click.argument("group_id", metavar="[GROUP]", required=False, shell_complete=known_ids)
@shared_flags
@click.pass_obj
def verify_command(invocation: Invocation, group_id: str | None) -> int:
    """Read the ledger from its newest snapshot and from its beginning: both must lead to the live state.

    With GROUP only that Group is compared. Exit code 5 if anything differs. An event that was changed shows only
    against a snapshot from before: group snapshot keeps one, and each thousand events one is kept unasked.
    """
    named = None if group_id is None else group_id_from(group_id)
    answer = finished(invocation.application().groups.verify(named))
    invocation.show_record(plain(answer), view_verified(answer))
    return FINE if answer.same else FOUND_WRONG


@group.command("snapshot", short_help="Keep a snapshot now.", epilog=example("metagit-mcp group snapshot"))
@shared_flags
@click.pass_obj
def snapshot_command(invocation: Invocation) -> None:
    """Keep a snapshot of the whole state now; every process that begins later goes on from it."""
    answer = finished(invocation.application().groups.snapshot())
    invocation.show_record(plain(answer), view_snapshot(answer))
