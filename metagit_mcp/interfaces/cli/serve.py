"""The command `serve`: hands the flags to the MCP server. The only module here that may know the other interface."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.cli.flags import example, names_flag, text_flag, workspace_flag
from metagit_mcp.interfaces.cli.invocation import Invocation

if TYPE_CHECKING:
    from metagit_mcp.settings import Settings

_HTTP_HELP: Final = "Serve over HTTP at this place, such as 127.0.0.1:8765, and not on standard input and output."
_AGENT_HELP: Final = "Who asks when a call does not say it."
_CAPABILITIES_HELP: Final = "What the agents of this server can do, unless a call says it."
_TOOLSETS_HELP: Final = "Which tools to offer: schedule, work, tasks, groups; default: schedule,work."
_WAIT_HELP: Final = "No call waits longer for work than so many seconds, whatever it asks for [default: 50]."
_OPERATOR_HELP: Final = "Let this server set Organization policy in the name of this person."


@click.command(
    short_help="Serve the MCP tools to an agent host.",
    epilog=example(
        "metagit-mcp serve --workspace ~/projects/shop",
        "metagit-mcp serve --toolsets schedule,work,tasks",
        "metagit-mcp serve --agent-id agent-1 --toolsets schedule --policy-read-only",
        "metagit-mcp serve --http 127.0.0.1:8765",
    ),
)
@text_flag("--agent-id", _AGENT_HELP)
@names_flag("--capabilities", _CAPABILITIES_HELP)
@names_flag("--toolsets", _TOOLSETS_HELP)
@click.option("--max-wait", type=int, metavar="SECONDS", help=_WAIT_HELP)
@text_flag("--operator", _OPERATOR_HELP, "NAME")
@click.option("--policy-read-only", is_flag=True, help="Refuse every change of the policy.")
@text_flag("--http", _HTTP_HELP, "HOST:PORT")
@names_flag("--allow-host", "Over HTTP: further names by which callers call the server, with their port.")
@names_flag("--allow-origin", "Over HTTP: further pages that may call from a browser, as https://HOST.")
@text_flag("--public-url", "Over HTTP: the URL of the program before this one, as https://HOST.", "URL")
@click.option("--legacy-stateless", is_flag=True, help="Over HTTP: no sessions for clients of the older protocol.")
@click.option("--no-token", is_flag=True, help="Over HTTP: callers without a token may look; on loopback only.")
@workspace_flag
@click.pass_obj
def serve(
    invocation: Invocation,
    /,
    agent_id: str | None,
    capabilities: list[str] | None,
    toolsets: list[str] | None,
    max_wait: int | None,
    operator: str | None,
    policy_read_only: bool,
    http: str | None,
    **flags: object,
) -> None:
    """Serve the MCP tools on standard input and output, for an agent host that starts this command.

    With --http for many callers over the network: each with a token, and a board for people at the same place.
    """
    from metagit_mcp.settings import settings_from

    settings = invocation.settings_flags(
        agent_id=agent_id,
        capabilities=_as_set(capabilities),
        toolsets=_as_set(toolsets),
        max_wait=max_wait,
        operator=operator,
        policy_read_only=policy_read_only or None,
    )
    if http is not None:
        _refuse_with_http(agent_id=agent_id, operator=operator)
    _run(settings_from(os.environ, **settings), http, flags)


def _run(settings: "Settings", http: str | None, flags: Mapping[str, Any]) -> None:
    if http is None:
        from metagit_mcp.interfaces.mcp.serve import run

        _refuse_without_http(flags)
        run(settings)
        return
    from metagit_mcp.interfaces.http.address import read_address
    from metagit_mcp.interfaces.http.serve import Start, greet
    from metagit_mcp.interfaces.http.serve import run as run_http

    address = read_address(
        http,
        hosts=flags["allow_host"] or (),
        origins=flags["allow_origin"] or (),
        public_url=flags["public_url"] or "",
        anonymous=flags["no_token"],
    )
    run_http(settings, address, Start(opened=greet, legacy_stateless=flags["legacy_stateless"]))


def _refuse_without_http(flags: Mapping[str, Any]) -> None:
    for name, given in flags.items():
        if given:
            raise InvalidInput(f"--{name.replace('_', '-')} needs --http", hint=_HTTP_HELP, field=name)


def _refuse_with_http(**flags: str | None) -> None:
    hint = "Over HTTP each caller's token says who it is: metagit-mcp token issue."
    for name, given in flags.items():
        if given is not None:
            raise InvalidInput(f"--{name.replace('_', '-')} is not for --http", hint=hint, field=name)


def _as_set(names: list[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)
