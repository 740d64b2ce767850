"""The command `serve`: hands the flags to the MCP server. The only module here that may know the other interface."""

import os
from typing import Final

import click

from metagit_mcp.interfaces.cli.flags import example, names_flag, text_flag, workspace_flag
from metagit_mcp.interfaces.cli.invocation import Invocation

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
    ),
)
@text_flag("--agent-id", _AGENT_HELP)
@names_flag("--capabilities", _CAPABILITIES_HELP)
@names_flag("--toolsets", _TOOLSETS_HELP)
@click.option("--max-wait", type=int, metavar="SECONDS", help=_WAIT_HELP)
@text_flag("--operator", _OPERATOR_HELP, "NAME")
@click.option("--policy-read-only", is_flag=True, help="Refuse every change of the policy.")
@workspace_flag
@click.pass_obj
def serve(
    invocation: Invocation,
    agent_id: str | None,
    capabilities: list[str] | None,
    toolsets: list[str] | None,
    max_wait: int | None,
    operator: str | None,
    policy_read_only: bool,
) -> None:
    """Serve the MCP tools on standard input and output, for an agent host that starts this command."""
    from metagit_mcp.interfaces.mcp.serve import run
    from metagit_mcp.settings import settings_from

    flags = invocation.settings_flags(
        agent_id=agent_id,
        capabilities=_as_set(capabilities),
        toolsets=_as_set(toolsets),
        max_wait=max_wait,
        operator=operator,
        policy_read_only=policy_read_only or None,
    )
    run(settings_from(os.environ, **flags))


def _as_set(names: list[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)
