"""Our entry in the file of each agent host, and which entries are ours. Knows no file and no position in one."""

import shlex
from collections.abc import Mapping
from typing import Any, Final, Protocol

from metagit_mcp.domain.value import value
from metagit_mcp.wire.host_files.hosts import Host
from metagit_mcp.wire.host_files.json_entries import JsonEntries
from metagit_mcp.wire.host_files.marked_blocks import MarkedBlocks
from metagit_mcp.wire.host_files.texts import EntryReading
from metagit_mcp.wire.host_files.toml_entries import TomlEntries

Entry = dict[str, Any]

NAME: Final = "metagit"
PROGRAM: Final = "metagit-mcp"
# Where `metagit-mcp` is no command, the interpreter runs the package.
AS_MODULE: Final = ("-m", "metagit_mcp")
TOKEN: Final = "METAGIT_TOKEN"  # noqa: S105 - the name of a variable
_WORKSPACE: Final = "METAGIT_WORKSPACE"
# Codex hands over only those variables that are named.
HANDED_OVER: Final = (
    "METAGIT_AGENT_ID",
    "METAGIT_LEDGER",
    "METAGIT_WORKSPACE",
    "METAGIT_WORKSPACE_ID",
    "METAGIT_WORKSPACE_ROOT",
)
_OPTIONS: Final = frozenset({"--agent-id", "--toolsets", "--capabilities"})


class EntryFormat(Protocol):
    """How our entry stands in a text: a record in JSON and TOML, a text in Markdown. Each raises `Misfit`."""

    def read(self, text: str) -> EntryReading:
        """Return our entry."""
        ...

    def fresh(self, entry: Any) -> str:  # noqa: ANN401 - as said
        """Return a text with nothing but the entry."""
        ...

    def put(self, text: str, entry: Any) -> str:  # noqa: ANN401 - as said
        """Return the text with the entry, in place of the one that is there."""
        ...

    def taken_out(self, text: str) -> str | None:
        """Return the text without the entry; None where nothing else was ever in the file."""
        ...


FORMATS: Final[Mapping[Host, EntryFormat]] = {
    "claude-code": JsonEntries("mcpServers", NAME),
    "claude-desktop": JsonEntries("mcpServers", NAME),
    "cursor": JsonEntries("mcpServers", NAME, lenient=True),
    "vscode": JsonEntries("servers", NAME, lenient=True),
    "codex": TomlEntries("mcp_servers", NAME, kept="tools"),
    "agents-md": MarkedBlocks(),
}
# How each of them takes a variable of its own environment into a header.
_TOKENS: Final[Mapping[Host, str]] = {
    "claude-code": f"${{{TOKEN}}}",
    "cursor": f"${{env:{TOKEN}}}",
    "vscode": f"${{env:{TOKEN}}}",
}


@value
class Connection:
    """How a host reaches the server: it starts `program` (its first word a command), or there is one at `url`.

    `options` are those of `serve`; `workspace` stands in the environment of the server where the host does not start
    it in the workspace.
    """

    program: tuple[str, ...] = (PROGRAM,)
    options: tuple[str, ...] = ()
    workspace: str | None = None
    url: str | None = None


def entry_of(host: Host, by: Connection) -> Entry:
    """Return the entry that a host needs."""
    if by.url is not None:
        return _remote(host, by.url)
    command, *before = by.program
    started: Entry = {"command": command, "args": [*before, "serve", *by.options]}
    env = {} if by.workspace is None else {"env": {_WORKSPACE: by.workspace}}
    if host == "codex":
        return {**started, "env_vars": list(HANDED_OVER), **env}
    # Claude Desktop knows no other type.
    return {**({} if host == "claude-desktop" else {"type": "stdio"}), **started, **env}


def _remote(host: Host, url: str) -> Entry:
    if host == "codex":
        return {"url": url, "bearer_token_env_var": TOKEN}
    kind = {} if host == "cursor" else {"type": "http"}
    return {**kind, "url": url, "headers": {"Authorization": f"Bearer {_TOKENS[host]}"}}


def is_ours(host: Host, entry: object) -> bool:
    """Say whether an entry is one that `entry_of` makes of some connection, or has less in it and nothing else."""
    if not isinstance(entry, dict):
        return False
    by = _connection(entry)
    if by is None or (by.url is not None and host != "codex" and host not in _TOKENS):
        return False
    made = entry_of(host, by)
    return all(made.get(name) == each or (name == "env" and each == {}) for name, each in entry.items())


def is_same(entry: object, wanted: object) -> bool:
    """Say whether an entry means what is wanted: hosts write an environment without variables, which means nothing."""
    if isinstance(entry, dict) and entry.get("env") == {}:
        entry = {name: each for name, each in entry.items() if name != "env"}
    return entry == wanted


def _connection(entry: Entry) -> Connection | None:
    """Return the connection that an entry may have been made of."""
    url, command, env = entry.get("url"), entry.get("command"), entry.get("env", {})
    if isinstance(url, str):
        return Connection(url=url)
    words = entry.get("args")
    if not isinstance(command, str) or not isinstance(words, list) or not isinstance(env, dict):
        return None
    if "serve" not in words or not all(isinstance(each, str) for each in (*words, *env.values())):
        return None
    at = words.index("serve")
    program, options = (command, *words[:at]), tuple(words[at + 1 :])
    is_program = command.rpartition("/")[2] == PROGRAM and not words[:at]
    if not (is_program or program[1:] == AS_MODULE) or len(options) % 2 or not _OPTIONS.issuperset(options[::2]):
        return None
    return Connection(program=program, options=options, workspace=env.get(_WORKSPACE))


def paste_of(host: Host, by: Connection) -> str | None:
    """Return the host's own command that makes such an entry, for a shell; None where it has none."""
    if host == "claude-code":
        if by.url is not None:
            # Single quotes: the host is to look the variable up, not the shell that would put the token into a file.
            header = shlex.quote(f"Authorization: Bearer {_TOKENS[host]}")
            return f"claude mcp add --transport http {NAME} {shlex.quote(by.url)} --header {header}"
        return f"claude mcp add {NAME}{_env(by)} -- {_started(by)}"
    if host == "codex":
        if by.url is not None:
            return f"codex mcp add {NAME} --url {shlex.quote(by.url)} --bearer-token-env-var {TOKEN}"
        return f"codex mcp add {NAME}{_env(by)} -- {_started(by)}"
    return None


def _env(by: Connection) -> str:
    return "" if by.workspace is None else f" --env {shlex.quote(f'{_WORKSPACE}={by.workspace}')}"


def _started(by: Connection) -> str:
    return shlex.join((*by.program, "serve", *by.options))
