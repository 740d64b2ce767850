"""Who speaks: the agent of a session, or one of its sub-agents; and whether it is to work on. Knows no event."""

from collections.abc import Mapping

from metagit_mcp.domain.text import agent_of_host

_NAMES = ("METAGIT_AGENT_ID", "CLAUDE_PLUGIN_OPTION_AGENT_ID")
# Cursor calls a session a conversation, except where it begins and ends.
_SESSIONS = ("session_id", "conversation_id")
_WORKER_MODE = ("CLAUDE_PLUGIN_OPTION_WORKER_MODE", "METAGIT_WORKER_MODE")
_YES = frozenset({"1", "true", "yes", "on"})


def session_of(given: Mapping[str, object]) -> str:
    """Return the id of the host's session, or an empty text."""
    return next((text for name in _SESSIONS if (text := text_of(given, name))), "")


def agent_of(given: Mapping[str, object], environ: Mapping[str, str]) -> str | None:
    """Return who speaks, by the id that its leases have; None where nothing names it, or by no id that it may have."""
    named = next((text for name in _NAMES if (text := said(environ.get(name)))), "")
    return agent_of_host(named or session_of(given), text_of(given, "agent_id"))


def is_worker(environ: Mapping[str, str]) -> bool:
    """Say whether the agent is to take the next node when its turn ends."""
    return any(said(environ.get(name)).casefold() in _YES for name in _WORKER_MODE)


def said(text: str | None) -> str:
    """Return what a variable says; one that a host does not know is handed over as it is written, `${NAME}`."""
    word = (text or "").strip()
    return "" if word.startswith("${") else word


def text_of(given: Mapping[str, object], name: str) -> str:
    """Return a text of the host's JSON, or an empty one."""
    text = given.get(name)
    return text.strip() if isinstance(text, str) else ""
