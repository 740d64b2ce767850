"""Who makes a call, where its host tells that beside the arguments: sub-agents then need neither a hook nor a word.

It must not know a tool. Over HTTP the token alone says who calls.
"""

from collections.abc import Mapping
from typing import Final

from metagit_mcp.domain.text import agent_of_host
from metagit_mcp.wire.codec import Json

# The keys of `_meta` in which a host names its session and the agent in it, which is the session itself or a sub-agent.
_HOSTS: Final = (
    ("sessionId", "threadId"),  # Codex
)
_FIELD: Final = "agent_id"


def signed(arguments: Json, meta: Mapping[str, object] | None, named: str) -> Json:
    """Return the arguments with the agent that the host says makes the call; as they are where one stands there.

    The id is the one that the hook `stamp-agent` gives (ADR 0040).

    Args:
        arguments: those of a tool whose `agent_id` says who calls.
        meta: what the host says beside them.
        named: the agent that the server was started for, which stands for the session; or an empty text.
    """
    there = arguments.get(_FIELD)
    agent_id = _agent_in(meta or {}, named)
    if agent_id is None or not (there is None or (isinstance(there, str) and not there.strip())):
        return arguments
    return {**arguments, _FIELD: agent_id}


def _agent_in(meta: Mapping[str, object], named: str) -> str | None:
    for session_key, agent_key in _HOSTS:
        session, agent = meta.get(session_key), meta.get(agent_key)
        if isinstance(session, str) and session:
            part = agent if isinstance(agent, str) and agent != session else ""
            return agent_of_host(named or session, part)
    return None
