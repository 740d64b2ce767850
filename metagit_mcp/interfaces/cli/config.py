"""The command `config`: tells agent hosts how to start the server. Knows no file and no host's format."""

import os
from typing import TYPE_CHECKING, Any, Final, cast, get_args

import click

from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.cli.exits import FINE, FOUND_WRONG
from metagit_mcp.interfaces.cli.flags import example, names_flag, shared_flags, text_flag
from metagit_mcp.interfaces.cli.invocation import Invocation
from metagit_mcp.interfaces.cli.views.config import view_config
from metagit_mcp.wire.host_files.hosts import Host, HostAction, HostWish

if TYPE_CHECKING:
    from metagit_mcp.wire.host_files.hosts import HostAnswer

_HTTP_HELP: Final = "The server runs at this URL; the host sends the token in METAGIT_TOKEN."
_WANTED: Final[dict[HostAction, str]] = {"show": "", "write": "current", "check": "current", "remove": "missing"}


@click.command(
    short_help="Tell an agent host how to start the server.",
    epilog=example(
        "metagit-mcp config claude-code",
        "metagit-mcp config codex --write",
        "metagit-mcp config cursor --user --check",
        "metagit-mcp config vscode --write --toolsets schedule,work,tasks",
        "metagit-mcp config claude-code --write --http https://metagit.example.org/mcp",
        "metagit-mcp config agents-md --remove",
    ),
)
@click.argument("host", type=click.Choice(get_args(Host)), metavar="HOST")
@click.option("--write", is_flag=True, help="Put our entry into the host's file; all else in it stays as it is.")
@click.option("--check", is_flag=True, help="Say how our entry stands; ends with 5 unless it is current.")
@click.option("--remove", is_flag=True, help="Take out what --write put in.")
@click.option("--force", is_flag=True, help="Write or remove also what a person changed.")
@click.option("--user", is_flag=True, help="Cursor: the file that holds for all projects.")
@click.option("--project", is_flag=True, help="Codex: the file of this project, which has to be trusted.")
@text_flag("--file", "agents-md: only this file [default: AGENTS.md and CLAUDE.md].", "PATH")
@text_flag("--agent-id", "Who asks when a call does not say it.")
@names_flag("--toolsets", "Which tools to offer: schedule, work, tasks, groups.")
@names_flag("--capabilities", "What the agents of this host can do.")
@text_flag("--http", _HTTP_HELP, "URL")
@shared_flags
@click.pass_obj
def config(invocation: Invocation, /, host: Host, **given: Any) -> int:  # noqa: ANN401 - the flags above
    """Print what HOST needs and where, or write, check or remove it there.

    HOST is claude-code, claude-desktop, cursor, vscode, codex, or agents-md for the work loop in AGENTS.md and
    CLAUDE.md. Exit code 0 if it stands as asked, 5 if not.
    """
    from metagit_mcp.bootstrap.hosts import open_hosts
    from metagit_mcp.settings import settings_from
    from metagit_mcp.wire.codec import plain

    action = _action(write=given["write"], check=given["check"], remove=given["remove"])
    if given["force"] and action not in {"write", "remove"}:
        raise InvalidInput("--force goes with --write or --remove", field="force")
    server = {name: given[name] for name in ("agent_id", "toolsets", "capabilities")}
    settings = settings_from(os.environ, **invocation.settings_flags(**server))
    hosts, workspace = open_hosts(settings, named=invocation.workspace is not None)
    wish = HostWish(
        host=host,
        action=action,
        force=given["force"],
        everywhere=_everywhere(user=given["user"], project=given["project"]),
        file=given["file"],
        agent_id=given["agent_id"],
        toolsets=tuple(given["toolsets"] or ()),
        capabilities=tuple(given["capabilities"] or ()),
        url=given["http"],
        workspace=workspace,
    )
    answer = hosts.answer(wish)
    invocation.show_record(plain(answer), view_config(answer))
    return _code(answer)


def _action(**chosen: bool) -> HostAction:
    names = [name for name, given in chosen.items() if given]
    if len(names) > 1:
        raise InvalidInput(f"--{names[0]} and --{names[1]} do not go together", hint="Choose one.", field=names[1])
    return cast("HostAction", names[0]) if names else "show"


def _everywhere(*, user: bool, project: bool) -> bool | None:
    if user and project:
        raise InvalidInput("--user and --project do not go together", hint="Choose one.", field="project")
    return user if user or project else None


def _code(answer: "HostAnswer") -> int:
    wanted = _WANTED[answer.action]
    return FINE if not wanted or {each.state for each in answer.files} == {wanted} else FOUND_WRONG
