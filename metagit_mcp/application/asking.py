"""Who asks: the agent of a call, with what it brings. Answers no question."""

from collections.abc import Sequence

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.turns.shared import View
from metagit_mcp.scheduling.capabilities import asker_for
from metagit_mcp.scheduling.snapshot import Asker


def asker_of(
    caller: Caller,
    view: View,
    agent_id: str | None = None,
    capabilities: Sequence[str] | None = None,
    *,
    claims: bool = False,
) -> Asker:
    """Return who asks, with what its session remembers of what it can do where the call does not say it."""
    name = agent_id or (caller.claims_as if claims else caller.agent_id)
    own = caller.capabilities if capabilities is None else frozenset(capabilities)
    session = view.work.sessions.get(name)
    if own is None and session is not None and session.capabilities is not None:
        own = frozenset(session.capabilities)
    return asker_for(view.policy, name, own)
