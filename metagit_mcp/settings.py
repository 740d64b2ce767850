"""What the flags and the environment of a process say. Knows no file, no workspace and no use case.

`METAGIT_MCP_CLOCK`, `METAGIT_MCP_IDS` and `METAGIT_MCP_FAULT` are test settings: they make two processes answer
alike, or end one in the middle of a write. `METAGIT_MCP_CLOCK=@FILE` reads the time from a file.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Final, Literal, cast

from metagit_mcp.domain.text import agent_of_host, nearest
from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput

Watch = Literal["auto", "inotify", "stat"]

TOOLSETS: Final = ("schedule", "work", "tasks", "groups")
DEFAULT_TOOLSETS: Final = frozenset({"schedule", "work"})
# What hosts allow a call by default is a minute.
_MAX_WAIT: Final = 50
_LONGEST_WAIT: Final = 300
_WATCHES: Final = ("auto", "inotify", "stat")
_WORKSPACE_VARIABLES: Final = ("METAGIT_WORKSPACE", "METAGIT_WORKSPACE_ROOT")
_PROJECT: Final = "CLAUDE_PROJECT_DIR"
_FOLDERS: Final = "WORKSPACE_FOLDER_PATHS"
_PLUGIN_VARIABLES: Final = ("CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT", "CURSOR_PLUGIN_ROOT")
# A host that knows no such variable hands `${NAME}` over as it is written in its configuration.
_UNSET: Final = re.compile(r"\$\{[^}]*\}")
# One `@`, and none of what ends its part of an address: else a part of the password would be read as the host.
_POSTGRES: Final = re.compile(
    r"postgres(ql)?://([^@/?#\s]*@)?([\w.%-]+|\[[\da-fA-F:.%]+\])?(:\d+)?"
    r"(,([\w.%-]+|\[[\da-fA-F:.%]+\])(:\d+)?)*(/[^@/?#\s]*)?(\?[^@#\s]*)?\Z"
)
_AGENT_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,255}\Z")


@value
class Settings:
    """How a process was started.

    `workspace` is the folder that a flag or variable (`workspace_from`) named; `project_dir` the one from which to
    search upward (`project_dir_from` named it), None for the current folder. `plugin_root` is the folder of the plugin
    that started the process, and no project's. `session_id` is the agent's where its host names its sessions. `ledger`
    is the address of a PostgreSQL ledger, which may hold a password; None: the ledger is a file of the workspace.
    `workspace_id` names it among those of other workspaces. `clock`, `ids` and `fault` are the test settings.
    """

    workspace: str | None = None
    workspace_from: str = "--workspace"
    project_dir: str | None = None
    project_dir_from: str = "CLAUDE_PROJECT_DIR"
    plugin_root: str | None = None
    agent_id: str = ""
    session_id: str = ""
    max_wait_seconds: int = 50
    capabilities: frozenset[str] | None = None
    operator: str | None = None
    policy_read_only: bool = False
    toolsets: frozenset[str] = DEFAULT_TOOLSETS
    watch: Watch = "auto"
    ledger: str | None = field(default=None, repr=False)
    workspace_id: str | None = None
    clock: datetime | None = None
    clock_file: str | None = None
    ids: str | None = None
    fault: str | None = None


def settings_from(
    environ: Mapping[str, str],
    *,
    workspace: str | None = None,
    agent_id: str | None = None,
    capabilities: Iterable[str] | None = None,
    operator: str | None = None,
    policy_read_only: bool = False,
    toolsets: Iterable[str] | None = None,
    max_wait: int | None = None,
) -> Settings:
    """Return the settings of a process; a flag wins over the environment, and what is empty is absent.

    Raises:
        InvalidInput: a flag or variable has a value that it cannot have; names it.
    """
    named, named_by = _workspace(environ, workspace)
    start, started_from = _project_dir(environ)
    clock = _given(environ.get("METAGIT_MCP_CLOCK")) or ""
    return Settings(
        workspace=named,
        workspace_from=named_by,
        project_dir=start,
        project_dir_from=started_from,
        plugin_root=_plugin_root(environ),
        agent_id=_agent_id(_given(agent_id) or _given(environ.get("METAGIT_AGENT_ID")) or ""),
        session_id=_session_id(environ),
        max_wait_seconds=_max_wait(max_wait),
        capabilities=None if capabilities is None else frozenset(capabilities),
        operator=_given(operator),
        policy_read_only=policy_read_only,
        toolsets=_toolsets(toolsets),
        watch=_watch(_given(environ.get("METAGIT_WATCH")) or "auto"),
        ledger=_ledger(_given(environ.get("METAGIT_LEDGER"))),
        workspace_id=_workspace_id(_given(environ.get("METAGIT_WORKSPACE_ID"))),
        clock=_clock(clock),
        clock_file=clock.removeprefix("@") if clock.startswith("@") else None,
        ids=_given(environ.get("METAGIT_MCP_IDS")),
        fault=_given(environ.get("METAGIT_MCP_FAULT")),
    )


def _given(text: str | None) -> str | None:
    """Return a text that says something, or None."""
    return None if text is None or not text.strip() or _UNSET.search(text) else text


def _workspace(environ: Mapping[str, str], flag: str | None) -> tuple[str | None, str]:
    ways = {"--workspace": flag, **{name: environ.get(name) for name in _WORKSPACE_VARIABLES}}
    return next(((path, name) for name, each in ways.items() if (path := _given(each))), (None, ""))


def _project_dir(environ: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the folder that the host names as the project's, and how; Cursor lists those that it has open."""
    folder = _given(environ.get(_PROJECT))
    if folder is not None:
        return folder, _PROJECT
    first = _first_folder(_given(environ.get(_FOLDERS)) or "")
    return (first, f"the first of {_FOLDERS}") if first else (None, _PROJECT)


def _first_folder(text: str) -> str:
    """Return the first path of a JSON list, or of those between commas."""
    if not text.lstrip().startswith("["):
        return text.partition(",")[0].strip()
    try:
        (first, *_) = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return first if isinstance(first, str) else ""


def _plugin_root(environ: Mapping[str, str]) -> str | None:
    return next((path for name in _PLUGIN_VARIABLES if (path := _given(environ.get(name)))), None)


def _agent_id(text: str) -> str:
    if text and not _AGENT_ID.match(text):
        rule = "letters, digits and '_', '.', ':', '/', '@', '-', at most 256, beginning with a letter, digit or '_'"
        raise InvalidInput(f"--agent-id must be {rule}", field="agent_id")
    return text


def _session_id(environ: Mapping[str, str]) -> str:
    """Return the agent of the host's session if that can be an agent's id; another program chose it.

    Codex names the thread too: of a sub-agent it is another one than the session. One host in the shell of another
    has the variables of both; those of Claude Code are always its own.
    """
    session, thread = (_given(environ.get(name)) or "" for name in ("CODEX_SESSION_ID", "CODEX_THREAD_ID"))
    claude = _given(environ.get("CLAUDE_CODE_SESSION_ID"))
    found = agent_of_host(claude) if claude else agent_of_host(session, "" if thread == session else thread)
    return found or ""


def _max_wait(seconds: int | None) -> int:
    if seconds is None:
        return _MAX_WAIT
    if not 0 <= seconds <= _LONGEST_WAIT:
        raise InvalidInput(f"--max-wait must be 0 to {_LONGEST_WAIT}", field="max_wait")
    return seconds


def _toolsets(names: Iterable[str] | None) -> frozenset[str]:
    if names is None:
        return DEFAULT_TOOLSETS
    chosen = frozenset(names)
    unknown = sorted(chosen.difference(TOOLSETS))
    if unknown:
        hint = f"Known toolsets: {', '.join(TOOLSETS)}; the nearest is {nearest(unknown[0], TOOLSETS)}."
        raise InvalidInput("--toolsets names an unknown toolset", hint=hint, field="toolsets")
    return chosen


def _watch(text: str) -> Watch:
    if text not in _WATCHES:
        raise InvalidInput(f"METAGIT_WATCH must be one of {', '.join(_WATCHES)}", field="METAGIT_WATCH")
    return cast("Watch", text)


def _ledger(address: str | None) -> str | None:
    if address is None or _POSTGRES.match(address):
        return address
    # The address itself is not shown: it may hold a password.
    hint = (
        "postgresql://USER@HOST:5432/DATABASE, with every @ : / ? # of a user or password percent-encoded. Without the "
        "variable the ledger is a file of the workspace."
    )
    raise InvalidInput("METAGIT_LEDGER must be the address of a PostgreSQL database", hint=hint, field="METAGIT_LEDGER")


def _workspace_id(text: str | None) -> str | None:
    if text is not None and not _AGENT_ID.match(text):
        rule = "letters, digits and '_', '.', ':', '/', '@', '-', at most 256, beginning with a letter, digit or '_'"
        raise InvalidInput(f"METAGIT_WORKSPACE_ID must be {rule}", field="METAGIT_WORKSPACE_ID")
    return text


def _clock(text: str) -> datetime | None:
    if not text or text.startswith("@"):
        return None
    at = _in_utc(text)
    if at is None:
        example = "2026-12-01T12:00:00Z"
        raise InvalidInput(
            f"METAGIT_MCP_CLOCK must be an RFC 3339 instant such as {example}", field="METAGIT_MCP_CLOCK"
        )
    return at


def _in_utc(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
        return None if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
