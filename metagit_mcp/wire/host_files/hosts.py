"""What `config` is asked and answers: which host, what is to be done, how each of its files stands. Knows no format."""

from typing import Final, Literal

from metagit_mcp.domain.value import value

Host = Literal["claude-code", "claude-desktop", "cursor", "vscode", "codex", "agents-md"]
HostAction = Literal["show", "write", "check", "remove"]
HostState = Literal["missing", "current", "outdated", "altered"]

TITLES: Final[dict[Host, str]] = {
    "claude-code": "Claude Code",
    "claude-desktop": "Claude Desktop",
    "cursor": "Cursor",
    "vscode": "VS Code",
    "codex": "Codex",
    "agents-md": "agents that read AGENTS.md or CLAUDE.md",
}


@value
class HostWish:
    """What to do with a host's file.

    `everywhere` means the file that holds for all projects, True or False where it was said; `file` is the one file of
    instructions that is meant. `agent_id`, `toolsets`, `capabilities` are for the server that the host starts, `url`
    is that of a server which others start. `workspace` is named only where it is to stand in the file.
    """

    host: Host
    action: HostAction = "show"
    force: bool = False
    everywhere: bool | None = None
    file: str | None = None
    agent_id: str | None = None
    toolsets: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    url: str | None = None
    workspace: str | None = None


@value
class HostFile:
    """One file of a host, and how our part of it stands after the command.

    `altered` means that a person changed it. `text` is what is to be pasted; only where nothing else was asked for.
    """

    path: str
    state: HostState
    changed: bool
    text: str | None = None


@value
class HostAnswer:
    """The answer to `config`: `paste` is the host's own command that does nearly the same, where it has one."""

    host: Host
    action: HostAction
    files: tuple[HostFile, ...]
    warnings: tuple[str, ...]
    next_step: str
    paste: str | None = None
