"""What hosts take as a plugin, as schemas: the facts of Cursor's published schema and of Agent Plugins 1.0.0.

Both are closed: a key that is not here is refused. Written down from what they say, not copied. Must not know: what our
plugin says.
"""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WORDS: Schema = {"type": "array", "items": TEXT}
NAMED: Schema = {"type": "string", "minLength": 1}
OBJECT: Schema = {"type": "object"}


def either(*schemas: Schema) -> Schema:
    """The schema of a value that is exactly one of these."""
    return {"oneOf": list(schemas)}


def closed(required: tuple[str, ...], /, **properties: Schema) -> Schema:
    """The schema of an object with no other properties."""
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": properties}


PATHS = either(TEXT, WORDS)

# --- Cursor (github.com/cursor/plugins, schemas/plugin.schema.json, 2026-11) ---------------------------------------

CURSOR_NAME: Schema = {"type": "string", "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"}
CURSOR_AUTHOR = closed(("name",), name=NAMED, email=TEXT)
CURSOR_PLUGIN = Draft202012Validator(
    closed(
        ("name",),
        name=CURSOR_NAME,
        **dict.fromkeys(("displayName", "description", "version", "license", "logo", "category"), TEXT),
        **dict.fromkeys(("homepage", "repository"), TEXT),
        publisher=NAMED,
        author=CURSOR_AUTHOR,
        **dict.fromkeys(("keywords", "tags"), WORDS),
        **dict.fromkeys(("commands", "agents", "skills", "rules"), PATHS),
        hooks=either(TEXT, OBJECT),
        mcpServers=either(TEXT, OBJECT, {"type": "array", "items": either(TEXT, OBJECT)}),
        variables=closed(("type",), type={"const": "object"}, properties=OBJECT, required=WORDS),
        minClientVersions=OBJECT,
    )
)
CURSOR_MARKETPLACE = Draft202012Validator(
    closed(
        ("name", "owner", "plugins"),
        name=CURSOR_NAME,
        owner=CURSOR_AUTHOR,
        metadata=closed((), description=TEXT, version=TEXT, pluginRoot=TEXT),
        plugins={
            "type": "array",
            "minItems": 1,
            "items": closed(("name",), name=CURSOR_NAME, source=TEXT, description=TEXT),
        },
    )
)
_CURSOR_EVENTS = (
    *("sessionStart", "sessionEnd", "preToolUse", "postToolUse", "postToolUseFailure", "subagentStart", "subagentStop"),
    *("beforeShellExecution", "afterShellExecution", "beforeMCPExecution", "afterMCPExecution", "beforeReadFile"),
    *("afterFileEdit", "beforeSubmitPrompt", "preCompact", "stop", "afterAgentResponse", "afterAgentThought"),
    *("beforeTabFileRead", "afterTabFileEdit", "workspaceOpen"),
)
_CURSOR_HOOK = closed(
    ("command",),
    command=NAMED,
    type={"enum": ["command", "prompt"]},
    timeout={"type": "number"},
    matcher=TEXT,
    loop_limit={"type": ["integer", "null"]},
    failClosed={"type": "boolean"},
)
_CURSOR_HANDLERS: Schema = {"type": "array", "minItems": 1, "items": _CURSOR_HOOK}
CURSOR_HOOKS = Draft202012Validator(
    closed(
        ("hooks",),
        version={"const": 1},
        hooks=closed((), **dict.fromkeys(_CURSOR_EVENTS, _CURSOR_HANDLERS)),
    )
)
CURSOR_RULE = Draft202012Validator(
    closed(("description", "alwaysApply"), description=NAMED, alwaysApply={"type": "boolean"}, globs=PATHS)
)

# --- Agent Plugins 1.0.0 (github.com/agentplugins/agent-plugins-spec) ----------------------------------------------

_PLACE = "https://agent-plugins.org/schemas/1.0.0"
_OURS = {"not": {"enum": ["PLUGIN_ROOT", "PLUGIN_DATA"]}}
AGENT_PLUGIN = Draft202012Validator(
    closed(
        ("$schema", "name"),
        **{"$schema": {"const": f"{_PLACE}/plugin.schema.json"}},
        name={"type": "string", "maxLength": 64, "pattern": r"^(?!.*(--|\.\.))[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"},
        **dict.fromkeys(("version", "description", "homepage", "repository", "license"), TEXT),
        author=closed((), name=TEXT, email=TEXT, url=TEXT),
        keywords=WORDS,
        extensions={"type": "object", "additionalProperties": OBJECT},
    )
)
_STDIO = closed(
    ("type", "command"),
    type={"const": "stdio"},
    # One word: found on the path, or a file of the package.
    command={"type": "string", "pattern": r"^(\./)?[\w.-][\w./-]*$"},
    args=WORDS,
    env={"type": "object", "propertyNames": _OURS, "additionalProperties": TEXT},
    cwd={"type": "string", "pattern": r"^(\./|\$\{PLUGIN_(ROOT|DATA)\}(/|$))"},
)
_HTTP = closed(
    ("type", "url"),
    type={"const": "streamable-http"},
    url=NAMED,
    headers={"type": "object", "additionalProperties": TEXT},
)
AGENT_SERVERS = Draft202012Validator(
    closed(
        ("$schema", "mcpServers"),
        **{"$schema": {"const": f"{_PLACE}/mcp.schema.json"}},
        mcpServers={"type": "object", "additionalProperties": either(_STDIO, _HTTP)},
    )
)
# Agent Skills: what every host knows; others add keys of their own.
AGENT_SKILL = Draft202012Validator(
    closed(
        ("name", "description"),
        name={"type": "string", "maxLength": 64, "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
        description={"type": "string", "minLength": 1, "maxLength": 1024},
        license=TEXT,
        compatibility={"type": "string", "minLength": 1, "maxLength": 500},
        metadata={"type": "object", "additionalProperties": TEXT},
        **{"allowed-tools": TEXT},
    )
)

# --- Codex (learn.chatgpt.com/docs/hooks) --------------------------------------------------------------------------

# The root takes these two keys, and refuses the whole file for any other.
CODEX_HOOKS = Draft202012Validator(
    closed(("hooks",), description=TEXT, hooks={"type": "object", "additionalProperties": {"type": "array"}})
)
