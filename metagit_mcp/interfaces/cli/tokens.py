"""The commands `token …`: who may call over the network, and as what. Knows no ledger."""

from typing import Final, cast, get_args

import click

from metagit_mcp.domain.access import Role
from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.confirmation import recorded_as, vouched_by
from metagit_mcp.interfaces.cli.flags import example, operator_flag, shared_flags, text_flag
from metagit_mcp.interfaces.cli.groups import LazyGroup
from metagit_mcp.interfaces.cli.invocation import Invocation

_ROLE_HELP: Final = "What it may do: look, work as an agent, coordinate one Group, or decide as a person."
_DAYS_HELP: Final = "It ends by itself after so many days [default: it is good until it is revoked]."


@click.group(
    cls=LazyGroup,
    short_help="Say who may call over HTTP.",
    epilog=example(
        "metagit-mcp token issue agent-1 --role agent",
        "metagit-mcp token issue planner --role coordinator --group login --days 30",
        "metagit-mcp token list",
        "metagit-mcp token revoke T-0123456789ab",
    ),
)
@shared_flags
def token() -> None:
    """Let callers use a server over HTTP: issue tokens, list them, revoke them."""


@token.command(
    "issue",
    short_help="Issue a token for SUBJECT.",
    epilog=example(
        "metagit-mcp token issue agent-1 --role agent",
        "metagit-mcp token issue ada --role operator --operator ada",
        "metagit-mcp token issue screen --role viewer --days 7 --json",
    ),
)
@click.argument("subject")
@click.option("--role", type=click.Choice(get_args(Role)), required=True, help=_ROLE_HELP)
@text_flag("--group", "The Group of a coordinator.", "ID")
@text_flag("--audience", "Only for the server with this URL [default: every server of this workspace].", "URL")
@click.option("--days", type=int, metavar="N", help=_DAYS_HELP)
@operator_flag
@shared_flags
@click.pass_obj
def issue_command(
    invocation: Invocation,
    subject: str,
    role: str,
    group: str | None,
    audience: str | None,
    days: int | None,
    operator: str | None,
) -> None:
    """Issue a token for SUBJECT, an agent id or a person's name, and print its secret, this once.

    Agents speak for SUBJECT and for SUBJECT/NAME. Whoever issues an operator's token types SUBJECT at a terminal.
    """
    from metagit_mcp.application.access import TokenWish
    from metagit_mcp.interfaces.cli.views.tokens import view_issued

    by = vouched_by(operator, [subject], "issue an operator's token") if role == "operator" else recorded_as(operator)
    wish = TokenWish(subject=subject, role=cast("Role", role), group_id=group or "", audience=audience or "", days=days)
    answer = finished(invocation.application().access.issue(wish, by))
    invocation.show(answer, view_issued(answer))


@token.command("list", short_help="List all tokens.", epilog=example("metagit-mcp token list"))
@shared_flags
@click.pass_obj
def list_command(invocation: Invocation) -> None:
    """List all tokens, live ones first; secrets are kept nowhere."""
    from metagit_mcp.interfaces.cli.views.tokens import view_tokens

    answer = finished(invocation.application().access.listed())
    invocation.show(answer, view_tokens(answer))


@token.command("revoke", short_help="End TOKEN at once.", epilog=example("metagit-mcp token revoke T-0123456789ab"))
@click.argument("token_id", metavar="TOKEN")
@operator_flag
@shared_flags
@click.pass_obj
def revoke_command(invocation: Invocation, token_id: str, operator: str | None) -> None:
    """Let TOKEN be good no more, at every server of this workspace.

    TOKEN is an id from `token list`, or a subject with one live token alone.
    """
    from metagit_mcp.interfaces.cli.views.tokens import view_revoked

    answer = finished(invocation.application().access.revoke(token_id, recorded_as(operator)))
    invocation.show(answer, view_revoked(answer))
