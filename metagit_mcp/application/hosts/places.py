"""Which file of which host is meant, and how that host reaches the server. Knows no file system and no format."""

from collections.abc import Callable, Iterator, Mapping
from posixpath import join, relpath
from typing import Final
from urllib.parse import SplitResult, urlsplit

from metagit_mcp.domain.text import shown
from metagit_mcp.errors import InvalidInput, WorkspaceNotFound
from metagit_mcp.ports.hosts import HostFacts
from metagit_mcp.wire.host_files.host_entries import PROGRAM, Connection
from metagit_mcp.wire.host_files.hosts import Host, HostWish

INSTRUCTIONS: Final = ("AGENTS.md", "CLAUDE.md")
# Hosts that replace this by the folder that is open in them.
_OPEN_FOLDER: Final = "${workspaceFolder}"
_NAMES_FOLDER: Final = frozenset({"cursor", "vscode"})
_NO_HTTP: Final = {
    "claude-desktop": "Its file knows only servers that it starts; a URL is added in its settings, under Connectors.",
    "agents-md": "Instructions name no server.",
}
# Which flag is for which host alone.
_FLAGS: Final[Mapping[str, tuple[Callable[[HostWish], bool], Host]]] = {
    "file": (lambda wish: wish.file is not None, "agents-md"),
    "user": (lambda wish: wish.everywhere is True, "cursor"),
    "project": (lambda wish: wish.everywhere is False, "codex"),
}


def paths_of(wish: HostWish, facts: HostFacts) -> tuple[str, ...]:
    """Return the files that are meant.

    Raises:
        InvalidInput: the host has no such file.
    """
    project = facts.project
    for flag, (given, host) in _FLAGS.items():
        if given(wish) and wish.host != host:
            raise InvalidInput(f"--{flag} is not for {wish.host}", hint=f"It is for {host} only.", field=flag)
    if wish.host == "agents-md":
        return tuple(join(project, name) for name in ((wish.file,) if wish.file else INSTRUCTIONS))
    if wish.host == "codex":
        return (f"{project}/.codex/config.toml" if wish.everywhere is False else f"{facts.codex_home}/config.toml",)
    if wish.host == "claude-desktop":
        support = f"{facts.home}/Library/Application Support" if facts.is_mac else facts.config_home
        return (f"{support}/Claude/claude_desktop_config.json",)
    if wish.host == "cursor":
        return (f"{facts.home if wish.everywhere else project}/.cursor/mcp.json",)
    return (f"{project}/.vscode/mcp.json" if wish.host == "vscode" else f"{project}/.mcp.json",)


def is_shared(wish: HostWish, facts: HostFacts, path: str) -> bool:
    """Say whether a file belongs to the project, and with it to everybody who works on it."""
    return path.startswith(f"{facts.project}/") and wish.host != "claude-desktop"


# --- how the server is reached -------------------------------------------------------------------------------------


def connection_of(wish: HostWish, facts: HostFacts) -> Connection:
    """Return how the host is to reach the server.

    Raises:
        InvalidInput: the options do not fit the host or each other, or a path is no text.
        WorkspaceNotFound: the host has to be told a workspace, and there is none.
    """
    options = tuple(_options(wish))
    if wish.host == "agents-md" and options:
        raise InvalidInput(f"{options[0]} is not for agents-md", hint=_NO_HTTP["agents-md"], field="host")
    if wish.url is not None:
        return Connection(url=_url(wish, options))
    workspace = _workspace(wish, facts)
    for text in (*facts.program, workspace or ""):
        if not text.isprintable():
            raise InvalidInput(f"{shown(text)} is a path that no such file can hold", field="workspace")
    return Connection(program=facts.program, options=options, workspace=workspace)


def _options(wish: HostWish) -> Iterator[str]:
    if wish.agent_id:
        yield from ("--agent-id", wish.agent_id)
    for name, given in (("--toolsets", wish.toolsets), ("--capabilities", wish.capabilities)):
        if given:
            yield from (name, ",".join(given))


def _url(wish: HostWish, options: tuple[str, ...]) -> str:
    """Return the URL of the server, `/mcp` added where it has no path.

    A user, a query or a fragment would be a secret in a file, or lead nowhere.
    """
    if wish.host in _NO_HTTP:
        raise InvalidInput(f"--http is not for {wish.host}", hint=_NO_HTTP[wish.host], field="http")
    if options or wish.workspace is not None:
        hint = "Start the server at that URL with them; the token says who calls."
        raise InvalidInput("--http goes with no other option of the server", hint=hint, field="http")
    given = wish.url or ""
    parts = _parts(given)
    if parts is None:
        raise InvalidInput("--http must be a URL", hint="Such as http://127.0.0.1:8765/mcp.", field="http")
    if "@" in parts.netloc or parts.query or parts.fragment:
        hint = "The host takes the token from the variable METAGIT_TOKEN; nothing secret stands in the file."
        raise InvalidInput("--http must be a URL without user, query and fragment", hint=hint, field="http")
    return given if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/mcp"


def _parts(url: str) -> SplitResult | None:
    """Return the parts of a URL that a host can call, None for anything else."""
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_one and url.isprintable() and " " not in url else None


def _workspace(wish: HostWish, facts: HostFacts) -> str | None:
    """Return what the server finds as its workspace in its environment; None where it finds the folder itself."""
    if wish.workspace is not None:
        return wish.workspace
    if wish.host == "claude-desktop":
        if facts.workspace is None:
            hint = f"Claude Desktop starts the server in no project. Pass --workspace PATH, or: {PROGRAM} init"
            raise WorkspaceNotFound("No metagit workspace upward from here.", hint=hint)
        return facts.workspace
    if wish.host in _NAMES_FOLDER and not wish.everywhere:
        return _from_open_folder(facts)
    return None


def _from_open_folder(facts: HostFacts) -> str:
    """Return the workspace as it lies from the folder that is open, which everybody has somewhere else."""
    if facts.workspace is None:
        return _OPEN_FOLDER
    way = relpath(facts.workspace, facts.project)
    if way == ".":
        return _OPEN_FOLDER
    if set(way.split("/")) == {".."}:
        return f"{_OPEN_FOLDER}/{way}"
    return facts.workspace
