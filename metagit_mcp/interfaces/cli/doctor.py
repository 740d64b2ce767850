"""The command `doctor`: what is wrong with the workspace, and what mends it. Knows no check."""

import click

from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.exits import FINE, FOUND_WRONG
from metagit_mcp.interfaces.cli.flags import example, shared_flags
from metagit_mcp.interfaces.cli.invocation import Invocation
from metagit_mcp.interfaces.cli.views.doctor import view_doctor


@click.command(
    short_help="Say what is wrong, and what mends it.",
    epilog=example("metagit-mcp doctor", "metagit-mcp doctor --fix", "metagit-mcp doctor --json"),
)
@click.option("--fix", is_flag=True, help="Mend what is safe to mend; what is wrong else is only told.")
@shared_flags
@click.pass_obj
def doctor(invocation: Invocation, fix: bool) -> int:
    """Look the workspace over: files, logs, ledger, leases. Nothing is changed without --fix.

    Exit code 0 if nothing is wrong, 5 if something is. A note is worth knowing and no fault.
    """
    from metagit_mcp.wire.codec import plain

    answer = finished(invocation.application().maintenance.doctor(fix=fix))
    invocation.show_record(plain(answer), view_doctor(answer))
    return FOUND_WRONG if answer.problems else FINE
