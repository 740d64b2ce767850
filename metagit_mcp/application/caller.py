"""Who a process speaks for, and what it may change. Knows no use case."""

from typing import Literal

from metagit_mcp.domain.value import value


@value
class Caller:
    """The default asker of a process and its authority (interfaces.md §4).

    `operator` names the person who vouches for Organization policy and approvals; without one only the policy keys
    of RFC-0012 may be set. `claims_as` is the agent that takes work where a call names none; `holder` names this
    process where it was started for that agent alone. `attended` leases are renewed by this
    process, and no call of it waits longer than `max_wait_seconds`.
    """

    agent_id: str = ""
    capabilities: frozenset[str] | None = None
    operator: str | None = None
    policy_read_only: bool = False
    claims_as: str = ""
    holder: str | None = None
    attended: bool = False
    max_wait_seconds: int = 300
    surface: Literal["mcp", "cli"] = "cli"
