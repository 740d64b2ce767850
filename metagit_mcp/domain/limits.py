"""What a policy says of agents, resources and work under way. Knows no Group and answers no question.

Each type is a part of `policy.SchedulePolicy` and of its JSON: the bounds here are those that a file is held to.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any

from metagit_mcp.domain.bounds import Interval
from metagit_mcp.domain.tasks import Name, Risk
from metagit_mcp.domain.value import value


def told(description: str) -> dict[str, object]:
    """Return what a field of the policy says of itself, in its schema and on the pages made of it."""
    return {"description": description}


Limit = Annotated[int, Interval(ge=0, le=1_000_000_000)]


@value
class AgentPolicy:
    """What the agents whose id fits a pattern can do; an ask may narrow it, never widen it."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    slots: Annotated[int, Interval(ge=0, le=1_000_000)] | None = field(
        default=None, metadata=told("Leases that each of these agents may hold at once; null is agent_slots.")
    )
    capabilities: tuple[Name, ...] = field(
        default=(), metadata=told("What these agents can do; several patterns that fit add up.")
    )
    uses: Mapping[Name, Limit] = field(
        default_factory=dict, metadata=told("Units of resources that each lease of these agents takes.")
    )


@value
class ResourcePolicy:
    """Something that agents share, such as a provider account."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    capacity: Annotated[int, Interval(ge=0, le=1_000_000)] = field(
        default=1, metadata=told("Units that leases may take at once.")
    )


def _seconds(default: int, description: str, least: int = 1) -> Any:  # noqa: ANN401 - stands for any field
    return field(default=default, metadata={"ge": least, "le": 1_000_000_000, "description": description})


@value
class LeasePolicy:
    """How long work stays with whoever has it, in seconds."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    seconds: int = _seconds(900, "A lease of an agent whose server renews it.")
    unattended_seconds: int = _seconds(14_400, "A lease that nobody renews unasked: of the command line.")
    max_seconds: int = _seconds(86_400, "The longest lease that can be asked for.")
    start_by_seconds: int = _seconds(3_600, "Until when accepted or paused work must be started.")
    blocked_seconds: int = _seconds(86_400, "How long blocked work keeps its owner.")
    idle_seconds: int = _seconds(7_200, "How long a server renews leases after the last call.")
    observed_seconds: int = _seconds(86_400, "How long a run that another program started holds its slots.")


@value
class RetryPolicy:
    """How often failed work is tried again, and how soon."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    max_attempts: Annotated[int, Interval(ge=1, le=1_000_000)] = field(
        default=3, metadata=told("Failures after which a node waits for a person.")
    )
    backoff_seconds: int = _seconds(60, "Wait after the first failure; it doubles with each one.", 0)
    max_backoff_seconds: int = _seconds(3_600, "The longest such wait.", 0)


@value
class PreemptionPolicy:
    """When work that runs is asked to pause for work that is further behind its share (scheduling.md §6)."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    enabled: bool = field(default=True, metadata=told("false: nothing that runs is ever asked to pause."))
    min_quantum_seconds: int = _seconds(300, "How long work runs before it may be asked to pause.", 0)
    max_preemptions: Annotated[int, Interval(ge=0, le=1_000_000)] = field(
        default=2, metadata=told("How often one node may be asked to pause; 0 is never.")
    )


@value
class GatePolicy:
    """Risks that need a person's approval before the node may run."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    approval_required_for: tuple[Risk, ...] = field(
        default=("high_risk", "destructive"), metadata=told("Risks of a node that a person must approve.")
    )


@value
class DisclosurePolicy:
    """What an estimate for a Group's Coordinator assumes of all others, in place of what is known of them."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    max_groups: Annotated[int, Interval(ge=1, le=1_000_000)] = field(
        default=8, metadata=told("Groups that get work until then, the one that is told and all of `groups` included.")
    )
    max_cost: Annotated[int, Interval(ge=1, le=1_000_000)] = field(
        default=16, metadata=told("The most units that a node costs in the end, unless its own estimate says more.")
    )
    seconds_per_unit: int = _seconds(60, "The most seconds that a slot is taken for each unit of cost.")
