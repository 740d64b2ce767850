"""The command `watch`: prints what happens as it happens. Knows neither files nor the ledger."""

import click

from metagit_mcp.application.news.changes import Change
from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.flags import example, shared_flags
from metagit_mcp.interfaces.cli.invocation import Invocation, mind_interrupts
from metagit_mcp.interfaces.cli.views.schedule import view_status
from metagit_mcp.interfaces.cli.views.work import view_change
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.requests import StatusRequest


@click.command(
    short_help="Print what happens, as it happens.",
    epilog=example("metagit-mcp watch", "metagit-mcp watch --lines | grep -v work_started", "metagit-mcp watch --json"),
)
@click.option("--lines", is_flag=True, help="Only the changes, one a line; else it begins with how things stand.")
@shared_flags
@click.pass_obj
def watch(invocation: Invocation, lines: bool) -> None:
    """Print each change within a second: claims, reports, leases that end, statuses in the files. Ctrl-C ends it.

    With --json each change is one line of JSON.
    """
    mind_interrupts()
    application = invocation.application()
    finished(application.watching.begin())
    if not lines and not invocation.as_json:
        status = finished(application.schedule.status(StatusRequest()))
        invocation.show(status, view_status(status))

    def tell(change: Change) -> bool:
        return invocation.show_record(plain(change), [view_change(change)])

    finished(application.watching.follow(tell))
