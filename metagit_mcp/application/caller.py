"""Who a call speaks for, and what it may do. Knows no use case.

Over the network the caller's role decides (`domain/access.py`); without a role a process of the operating-system user
speaks, and may do everything.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from typing import Literal

from metagit_mcp.domain.access import ACTS, AccessToken, Act, Role, is_allowed
from metagit_mcp.domain.text import shown_id
from metagit_mcp.domain.value import value
from metagit_mcp.errors import AuthForbidden, AuthRequired, GraphNotFound, GroupNotFound, MetagitError


@value
class Caller:
    """The default asker of a call and its authority (interfaces.md §4).

    `operator` names the person who vouches for Organization policy and approvals; without one only the policy keys
    of RFC-0012 may be set. `claims_as` is the agent that takes work where a call names none; `holder` names this
    process where it was started for that agent alone. `attended` leases are renewed by this
    process, and no call of it waits longer than `max_wait_seconds`. `group_id` is a coordinator's Group.
    """

    agent_id: str = ""
    capabilities: frozenset[str] | None = None
    operator: str | None = None
    policy_read_only: bool = False
    claims_as: str = ""
    holder: str | None = None
    attended: bool = False
    max_wait_seconds: int = 300
    surface: Literal["mcp", "cli", "http"] = "cli"
    role: Role | None = None
    group_id: str = ""
    # What it called with, over the network: it is heard and told no longer than that is good.
    token_id: str = ""

    def allow(self, act: Act) -> None:
        """Let the caller do this, as far as its role decides.

        Raises:
            AuthForbidden: its role may not.
        """
        if self.role is None or is_allowed(self.role, act):
            return
        roles = sorted(ACTS[act][1])
        who = f"A token with the role {' or '.join(roles)} may." if roles else "Only the user of the machine may."
        raise AuthForbidden(f"The role {self.role} may not {ACTS[act][0].partition(':')[0]}.", hint=who, role=self.role)

    def may(self, act: Act) -> bool:
        """Say whether the caller's role may do this."""
        return self.role is None or is_allowed(self.role, act)

    def is_good(self, tokens: Mapping[str, AccessToken], now: datetime) -> bool:
        """Say whether what the caller called with is still good: who waits long outlives its token."""
        token = tokens.get(self.token_id)
        return not self.token_id or (token is not None and token.is_live(now))

    def refuse_ended(self, tokens: Mapping[str, AccessToken], now: datetime) -> None:
        """Go no further for a caller whose token ended while it waited.

        Raises:
            AuthRequired: it was revoked, or its time is over.
        """
        if not self.is_good(tokens, now):
            raise AuthRequired("The token of this call is good no more.", hint="metagit-mcp token issue gives one.")

    def named(self, agent_id: str | None) -> str | None:
        """Return whom the caller may speak for: whoever it names, or, with an agent's role, itself and its sub-agents.

        Raises:
            AuthForbidden: it names another agent.
        """
        if agent_id and not self.speaks_for(agent_id):
            raise AuthForbidden(
                f"This token speaks for {self.claims_as}, not for {shown_id(agent_id)}.",
                hint=f"Leave agent_id out, or pass {self.claims_as}/NAME for a sub-agent.",
                field="agent_id",
            )
        return agent_id

    def speaks_for(self, agent_id: str) -> bool:
        """Say whether what this agent does is the caller's to do."""
        if self.role is None or self.role == "operator":
            return True
        return self.role == "agent" and (agent_id == self.claims_as or agent_id.startswith(f"{self.claims_as}/"))


Unknown = Callable[[str], MetagitError]


def no_such_graph(graph_id: str) -> MetagitError:
    """Return what is said of a Group that is not there, or that its asker may not know of: the same."""
    return GraphNotFound(f"No task graph is called {shown_id(graph_id)}.", graph_id=shown_id(graph_id))


def no_such_group(group_id: str) -> MetagitError:
    """Return the same of a Group that is fed by Events."""
    return GroupNotFound(
        f"No Group {shown_id(group_id)} is fed by Events.",
        hint="metagit_group_deliver begins one with the first Events of its log.",
        group_id=shown_id(group_id),
    )


def asked(
    caller: Caller, act: Act, graph_id: str | None, unknown: Unknown = no_such_graph
) -> AbstractContextManager[str | None]:
    """Return a block in which a caller asks about a Group, which it is given: the one it names, or a coordinator's own.

    To a coordinator another Group is one that is not there, in the same words (work.md §7).

    Raises:
        AuthForbidden: the caller's role may not do this.
        GraphNotFound, GroupNotFound: a coordinator names another Group than its own, or its own is not there.
    """
    caller.allow(act)
    return nullcontext(graph_id) if caller.role != "coordinator" else _asked_in_group(caller, graph_id, unknown)


@contextmanager
def _asked_in_group(caller: Caller, graph_id: str | None, unknown: Unknown) -> Iterator[str | None]:
    if graph_id is not None and graph_id != caller.group_id:
        raise unknown(graph_id)
    try:
        yield caller.group_id
    except (GraphNotFound, GroupNotFound):
        raise unknown(caller.group_id) from None


def looking(
    caller: Caller, graph_id: str | None, unknown: Unknown = no_such_graph
) -> AbstractContextManager[str | None]:
    """Return a block in which a caller looks at a Group, which it is given, or None for the whole workspace."""
    whole = graph_id is None and caller.role != "coordinator"
    return asked(caller, "look" if whole else "look_at_group", graph_id, unknown)
