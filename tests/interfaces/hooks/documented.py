"""What each host gives a hook at each event, as its documentation has it, and which keys an answer may have.

Claude Code: code.claude.com/docs/en/hooks; Codex: learn.chatgpt.com/docs/hooks; Cursor: cursor.com/docs/hooks. It must
not know what we answer.
"""

from __future__ import annotations

import copy
from typing import Any

Json = dict[str, Any]
EVENTS = ("session-start", "stamp-agent", "stop", "teammate-idle", "session-end")
HOSTS = ("claude", "codex", "cursor")
SESSION = "5f0c1d9e-7a1b-4c55-9f7e-0d2f6b7a8c90"

_CLAUDE = {"session_id": SESSION, "transcript_path": "/h/.claude/projects/p/t.jsonl", "cwd": "/p"}
_CODEX = {"session_id": SESSION, "transcript_path": None, "cwd": "/p", "model": "gpt-5.5-codex"}
_CURSOR = {
    "conversation_id": SESSION,
    "generation_id": "g-1",
    "model": "default",
    "cursor_version": "2.4.1",
    "workspace_roots": ["/p"],
    "user_email": None,
    "transcript_path": None,
}
_CALL = {"tool_input": {"claim": True, "graph_id": "shop"}, "tool_use_id": "toolu_01ABC"}
_ENDED = {"stop_hook_active": False, "last_assistant_message": "Done."}

INPUTS: dict[tuple[str, str], Json] = {
    ("claude", "session-start"): {
        **_CLAUDE,
        "hook_event_name": "SessionStart",
        "source": "startup",
        "model": "claude-opus-4-7",
    },
    ("claude", "stamp-agent"): {
        **_CLAUDE,
        **_CALL,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "mcp__plugin_metagit_sched__metagit_schedule_next",
    },
    ("claude", "stop"): {
        **_CLAUDE,
        **_ENDED,
        "permission_mode": "default",
        "hook_event_name": "Stop",
        "background_tasks": [],
        "session_crons": [],
    },
    ("claude", "teammate-idle"): {
        **_CLAUDE,
        "permission_mode": "default",
        "hook_event_name": "TeammateIdle",
        "teammate_name": "researcher",
        "team_name": "session-a1b2c3d4",
    },
    ("claude", "session-end"): {**_CLAUDE, "hook_event_name": "SessionEnd", "reason": "other"},
    ("codex", "session-start"): {
        **_CODEX,
        "hook_event_name": "SessionStart",
        "source": "resume",
        "permission_mode": "default",
    },
    ("codex", "stamp-agent"): {
        **_CODEX,
        **_CALL,
        "turn_id": "turn-1",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "mcp__sched__metagit_schedule_next",
    },
    ("codex", "stop"): {
        **_CODEX,
        **_ENDED,
        "turn_id": "turn-1",
        "permission_mode": "default",
        "hook_event_name": "Stop",
    },
    ("codex", "session-end"): {**_CODEX, "hook_event_name": "SessionEnd", "reason": "other"},
    ("cursor", "session-start"): {
        **_CURSOR,
        "hook_event_name": "sessionStart",
        "session_id": SESSION,
        "is_background_agent": False,
        "composer_mode": "agent",
    },
    ("cursor", "stamp-agent"): {
        **_CURSOR,
        **_CALL,
        "hook_event_name": "preToolUse",
        "tool_name": "MCP:metagit_schedule_next",
        "cwd": "/p",
        "agent_message": "Looking for work",
    },
    ("cursor", "stop"): {**_CURSOR, "hook_event_name": "stop", "status": "completed", "loop_count": 0},
    ("cursor", "session-end"): {
        **_CURSOR,
        "hook_event_name": "sessionEnd",
        "session_id": SESSION,
        "reason": "completed",
        "duration_ms": 45000,
        "is_background_agent": False,
        "final_status": "completed",
    },
}

# The keys of an answer, those within hookSpecificOutput in a set of their own.
KEYS: dict[tuple[str, str], tuple[set[str], set[str]]] = {
    ("claude", "session-start"): ({"hookSpecificOutput"}, {"hookEventName", "additionalContext"}),
    ("claude", "stamp-agent"): ({"hookSpecificOutput"}, {"hookEventName", "updatedInput"}),
    ("claude", "stop"): ({"hookSpecificOutput"}, {"hookEventName", "additionalContext"}),
    ("codex", "session-start"): ({"hookSpecificOutput"}, {"hookEventName", "additionalContext"}),
    ("codex", "stamp-agent"): ({"hookSpecificOutput"}, {"hookEventName", "permissionDecision", "updatedInput"}),
    ("codex", "stop"): ({"decision", "reason"}, set()),
    ("cursor", "session-start"): ({"additional_context"}, set()),
    ("cursor", "stamp-agent"): ({"permission", "updated_input"}, set()),
    ("cursor", "stop"): ({"followup_message"}, set()),
}


def given(host: str, event: str, **changes: object) -> Json:
    """Return what a host gives at an event, with some fields replaced."""
    return {**copy.deepcopy(INPUTS[host, event]), **changes}


def assert_documented(host: str, event: str, record: Json | None) -> None:
    """Nothing, or JSON with the documented keys only."""
    if not record:
        assert record is None or host == "cursor"
        return
    outer, inner = KEYS[host, event]
    assert set(record) == outer
    if "hookSpecificOutput" in outer:
        assert set(record["hookSpecificOutput"]) == inner
