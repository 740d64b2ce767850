"""The formats of the hosts: which file of the plugin says what. It must not know what the plugin is for."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import facts
from icon import picture

TEXTS: Final = Path(__file__).resolve().parent / "texts"
PLUGIN: Final = f"plugins/{facts.NAME}"
PORTABLE: Final = f"plugins/{facts.NAME}-portable"
_AGENT_PLUGINS: Final = "https://agent-plugins.org/schemas/1.0.0"
# The name that Claude Code gives to a tool of a plugin.
_CLAUDE_TOOLS: Final = f"mcp__plugin_{facts.NAME}_{facts.SERVER}__"

Json = dict[str, Any]


def files() -> Iterator[tuple[str, bytes]]:
    """Yield each file of the plugins by its path in the repository."""
    documents: Mapping[str, Json | list[Json]] = {
        ".claude-plugin/marketplace.json": _claude_marketplace(),
        ".cursor-plugin/marketplace.json": _cursor_marketplace(),
        f"{PLUGIN}/.claude-plugin/plugin.json": _claude_plugin(),
        f"{PLUGIN}/.mcp.json": _claude_servers(),
        f"{PLUGIN}/hooks/hooks.json": _claude_hooks(),
        f"{PLUGIN}/monitors/monitors.json": _monitors(),
        f"{PLUGIN}/.codex-plugin/plugin.json": _codex_plugin(),
        f"{PLUGIN}/codex.mcp.json": _codex_servers(),
        f"{PLUGIN}/hooks/hooks-codex.json": _codex_hooks(),
        f"{PLUGIN}/.cursor-plugin/plugin.json": _cursor_plugin(),
        f"{PLUGIN}/cursor.mcp.json": _servers(),
        f"{PLUGIN}/hooks/hooks-cursor.json": _cursor_hooks(),
        f"{PORTABLE}/plugin.json": _portable_plugin(),
        f"{PORTABLE}/mcp.json": {"$schema": f"{_AGENT_PLUGINS}/mcp.schema.json", **_servers()},
    }
    for name, document in documents.items():
        yield name, f"{json.dumps(document, indent=2)}\n".encode()
    for name, (source, more) in _texts().items():
        yield name, _filled(source, more).encode()
    yield f"{PLUGIN}/assets/icon.png", picture()


# --- texts ---------------------------------------------------------------------------------------


def _texts() -> Mapping[str, tuple[str, Mapping[str, str]]]:
    """Return each text of the plugins with the file it is made from and what only it is filled with."""
    tools = " ".join(f"{_CLAUDE_TOOLS}{name}" for name in dict.fromkeys(re.findall(r"metagit_\w+", facts.LOOP)))
    here = (TEXTS / "folder-of-the-session.md").read_text(encoding="utf-8")
    elsewhere = (TEXTS / "folder-of-the-plugin.md").read_text(encoding="utf-8")
    return {
        f"{PLUGIN}/README.md": ("README.md", {}),
        f"{PLUGIN}/rules/{facts.NAME}.mdc": ("rule.mdc", {}),
        f"{PLUGIN}/skills/{facts.SKILL}/SKILL.md": ("SKILL.md", {"allowed": f"allowed-tools: {tools}\n", "also": here}),
        f"{PORTABLE}/README.md": ("README-portable.md", {}),
        f"{PORTABLE}/skills/{facts.SKILL}/SKILL.md": ("SKILL.md", {"allowed": "", "also": elsewhere}),
    }


def _filled(source: str, more: Mapping[str, str]) -> str:
    """Return a text with its places filled: `<<name>>`, since braces and dollars are what the texts are about."""
    known = {
        "name": facts.NAME,
        "title": facts.TITLE,
        "version": facts.VERSION,
        "license": facts.LICENSE,
        "description": facts.DESCRIPTION,
        "server": facts.SERVER,
        "skill": facts.SKILL,
        "program": facts.PROGRAM,
        "loop": facts.LOOP,
        "in_short": facts.IN_SHORT,
        **more,
    }
    return re.sub(r"<<(\w+)>>", lambda found: known[found[1]], (TEXTS / source).read_text(encoding="utf-8"))


# --- what several hosts take ---------------------------------------------------------------------


def _identity() -> Json:
    return {
        "name": facts.NAME,
        "version": facts.VERSION,
        "description": facts.DESCRIPTION,
        "author": facts.AUTHOR,
        "license": facts.LICENSE,
        "keywords": list(facts.KEYWORDS),
    }


def _server(*more: str) -> Json:
    return {"type": "stdio", "command": facts.PROGRAM, "args": [*facts.SERVE, *more]}


def _servers(**more: object) -> Json:
    return {"mcpServers": {facts.SERVER: {**_server(), **more}}}


def _grouped(hooks: Iterator[tuple[str, Json]]) -> Json:
    """Return hooks by the event that leads to them, each event once."""
    found: Json = {}
    for event, hook in hooks:
        found.setdefault(event, []).append(hook)
    return found


def _matcher(prefix: str, hook: facts.Hook) -> Json:
    return {"matcher": f"{prefix}({'|'.join(hook.tools)})"} if hook.tools else {}


def _line(hook: facts.Hook, host: str) -> str:
    return f"{facts.PROGRAM} hook {hook.event} --host {host}"


# --- Claude Code ---------------------------------------------------------------------------------


def _claude_marketplace() -> Json:
    listed = {"name": facts.NAME, "source": f"./{PLUGIN}", "description": facts.DESCRIPTION, "category": "workflow"}
    return {
        "$schema": "https://json.schemastore.org/claude-code-marketplace.json",
        "name": facts.NAME,
        "description": facts.SHORT,
        "owner": facts.AUTHOR,
        "plugins": [{**listed, "tags": list(facts.KEYWORDS)}],
    }


def _claude_plugin() -> Json:
    worker_mode = {
        "type": "boolean",
        "title": "Worker mode",
        "description": "When a turn ends and its task is reported, name the next one, so that the agent goes on",
        "default": False,
    }
    agent_id = {
        "type": "string",
        "title": "Agent id",
        "description": "A name of this agent that stays the same; left empty, each session has its own",
        "default": "",
    }
    return {
        **_identity(),
        "displayName": facts.TITLE,
        "userConfig": {"worker_mode": worker_mode, "agent_id": agent_id},
        "experimental": {"monitors": "./monitors/monitors.json"},
    }


def _claude_servers() -> Json:
    # The hooks know the id in the same order; the workspace is found from CLAUDE_PROJECT_DIR, which the host sets.
    return _servers(env={"METAGIT_AGENT_ID": "${METAGIT_AGENT_ID:-${user_config.agent_id}}"})


def _claude_hooks() -> Json:
    def found() -> Iterator[tuple[str, Json]]:
        for hook in facts.HOOKS:
            command = {
                "type": "command",
                "command": facts.PROGRAM,
                "args": ["hook", hook.event],
                "timeout": hook.seconds,
                **({"statusMessage": hook.status} if hook.status else {}),
            }
            matcher = _matcher(_CLAUDE_TOOLS, hook)
            yield from ((event, {**matcher, "hooks": [command]}) for event in hook.claude)

    return {"description": facts.SHORT, "hooks": _grouped(found())}


def _monitors() -> list[Json]:
    # Only what may concern an agent that waits: each line costs it a notification.
    command = f"{facts.PROGRAM} watch --lines | grep --line-buffered -wE '{'|'.join(facts.HEARD)}'"
    told = "Tasks that became free, and what somebody asks of whoever works"
    return [
        {"name": "work", "command": command, "description": told, "when": f"on-skill-invoke:{facts.NAME}:{facts.SKILL}"}
    ]


# --- Codex ---------------------------------------------------------------------------------------


def _codex_plugin() -> Json:
    interface = {
        "displayName": facts.TITLE,
        "shortDescription": facts.SHORT,
        "developerName": facts.AUTHOR["name"],
        "category": "Developer Tools",
        "capabilities": ["Read", "Write"],
        "defaultPrompt": [f"Use ${facts.SKILL} to work through the tasks of this workspace."],
    }
    return {
        **_identity(),
        "skills": "./skills/",
        "mcpServers": "./codex.mcp.json",
        "hooks": "./hooks/hooks-codex.json",
        "interface": interface,
    }


def _codex_servers() -> Json:
    server = {**_server(*facts.LONG_WAIT), "env_vars": list(facts.VARIABLES), "tool_timeout_sec": facts.TOOL_TIMEOUT_S}
    return {"mcpServers": {facts.SERVER: server}}


def _codex_hooks() -> Json:
    def found() -> Iterator[tuple[str, Json]]:
        for hook in facts.HOOKS:
            command = {"type": "command", "command": _line(hook, "codex"), "timeout": hook.seconds}
            matcher = _matcher(f"mcp__{facts.SERVER}__", hook)
            yield from ((event, {**matcher, "hooks": [command]}) for event in hook.codex)

    return {"hooks": _grouped(found())}


# --- Cursor --------------------------------------------------------------------------------------


def _cursor_marketplace() -> Json:
    return {
        "name": facts.NAME,
        "owner": facts.AUTHOR,
        "metadata": {"description": facts.SHORT},
        "plugins": [{"name": facts.NAME, "source": PLUGIN, "description": facts.DESCRIPTION}],
    }


def _cursor_plugin() -> Json:
    return {
        **_identity(),
        "displayName": facts.TITLE,
        "category": "developer-tools",
        "logo": "assets/icon.png",
        "skills": "./skills/",
        "rules": f"./rules/{facts.NAME}.mdc",
        "hooks": "./hooks/hooks-cursor.json",
        "mcpServers": "./cursor.mcp.json",
    }


def _cursor_hooks() -> Json:
    def found() -> Iterator[tuple[str, Json]]:
        for hook in facts.HOOKS:
            limit = {"loop_limit": facts.LOOP_LIMIT} if hook.event == "stop" else {}
            command = {"command": _line(hook, "cursor"), "timeout": hook.seconds, **_matcher("MCP:", hook), **limit}
            yield from ((event, command) for event in hook.cursor)

    return {"version": 1, "hooks": _grouped(found())}


# --- Agent Plugins 1.0 ---------------------------------------------------------------------------


def _portable_plugin() -> Json:
    return {"$schema": f"{_AGENT_PLUGINS}/plugin.schema.json", **_identity()}
