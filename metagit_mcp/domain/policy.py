"""The schedule policy: weights, limits and gates of a workspace. Knows no file and no node.

Weights and the penalty are decimals of at most six places; the core works with them as whole micros.
"""

from collections.abc import Mapping
from dataclasses import field, fields
from decimal import ROUND_HALF_EVEN, Decimal
from fnmatch import fnmatchcase
from typing import Annotated, Any, Final, Literal

from annotated_types import Interval

from metagit_mcp.domain.tasks import Name, Risk
from metagit_mcp.domain.value import value

MICRO: Final = 1_000_000
# allow_inf_nan stands in the field metadata: annotated_types has no word for "finite".
_FINITE: Final = {"ge": 0, "le": 1_000_000, "allow_inf_nan": False}


def _told(description: str) -> dict[str, object]:
    return {"description": description}


def _finite(description: str) -> dict[str, object]:
    return {**_FINITE, "description": description}


_INHERITED: Final = _finite("The same for one graph; null inherits the workspace's weight.")


@value
class Weights:
    """How much each factor of the score counts (scheduling.md §2)."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    priority: float = field(default=1.0, metadata=_finite("Score per step of a node's priority."))
    dependency: float = field(
        default=0.2, metadata=_finite("Score of the most critical node of a graph; others get their share of it.")
    )
    affinity: float = field(default=0.5, metadata=_finite("Score for a repository with a warm worktree."))
    cost: float = field(
        default=0.25, metadata=_finite("Score of a node that costs no tokens; at 1000 tokens half of it.")
    )
    fairness: float = field(
        default=0.0, metadata=_finite("Score for the ready repositories that were served least; 0 turns it off.")
    )
    urgency: float = field(
        default=1.0, metadata=_finite("Score per step of requested_urgency: routine -1, normal 0, high 1, critical 2.")
    )
    deadline: float = field(default=1.0, metadata=_finite("Score of a node that is due soon."))


@value
class WeightOverride:
    """Weights of one graph; None inherits the workspace's weight."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    priority: float | None = field(default=None, metadata=_INHERITED)
    dependency: float | None = field(default=None, metadata=_INHERITED)
    affinity: float | None = field(default=None, metadata=_INHERITED)
    cost: float | None = field(default=None, metadata=_INHERITED)
    fairness: float | None = field(default=None, metadata=_INHERITED)
    urgency: float | None = field(default=None, metadata=_INHERITED)
    deadline: float | None = field(default=None, metadata=_INHERITED)


BudgetName = Literal["tokens", "tool_calls", "seconds", "cost_micros"]
Limit = Annotated[int, Interval(ge=0, le=1_000_000_000)]


@value
class GroupPolicy:
    """Limits of one Group, how its work ends, and what its agents may load."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    quota: Annotated[int, Interval(ge=0, le=1_000_000)] | None = field(
        default=None, metadata=_told("Slots that the Group's running nodes may take at once; null is no limit.")
    )
    review: bool = field(
        default=False, metadata=_told("true: finished work is submitted, and done when a person accepted it.")
    )
    budget: Mapping[BudgetName, Limit] | None = field(
        default=None, metadata=_told("What each node of the Group may use, unless the node says it; null is no limit.")
    )
    context_refs: tuple[Name, ...] = field(
        default=(), metadata=_told("Names of contexts that agents working for the Group may load.")
    )
    credential_refs: tuple[Name, ...] = field(
        default=(), metadata=_told("Names of credentials that agents working for the Group may use; never secrets.")
    )


@value
class AgentPolicy:
    """What the agents whose id fits a pattern can do; an ask may narrow it, never widen it."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    capabilities: tuple[Name, ...] = field(
        default=(), metadata=_told("What these agents can do; several patterns that fit add up.")
    )
    slots: Annotated[int, Interval(ge=0, le=1_000_000)] | None = field(
        default=None, metadata=_told("Leases that each of these agents may hold at once; null is agent_slots.")
    )
    uses: Mapping[Name, Limit] = field(
        default_factory=dict, metadata=_told("Units of resources that each lease of these agents takes.")
    )


@value
class ResourcePolicy:
    """Something that agents share, such as a provider account."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    capacity: Annotated[int, Interval(ge=0, le=1_000_000)] = field(
        default=1, metadata=_told("Units that leases may take at once.")
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
        default=3, metadata=_told("Failures after which a node waits for a person.")
    )
    backoff_seconds: int = _seconds(60, "Wait after the first failure; it doubles with each one.", 0)
    max_backoff_seconds: int = _seconds(3_600, "The longest such wait.", 0)


@value
class GatePolicy:
    """Risks that need a person's approval before the node may run."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    approval_required_for: tuple[Risk, ...] = field(
        default=("high_risk", "destructive"), metadata=_told("Risks of a node that a person must approve.")
    )


@value
class AffinityPolicy:
    """Which worktrees make a repository warm: the pool's or the asker's own, how old, and whether on disk."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    scope: Literal["pool", "agent"] = field(
        default="pool", metadata=_told("Whose worktrees count: everybody's (pool), or the asker's own (agent).")
    )
    max_age_seconds: Annotated[int, Interval(ge=1, le=1_000_000_000)] | None = field(
        default=None, metadata=_told("Seconds since its last update after which a worktree is cold; null is never.")
    )
    require_path: bool = field(default=True, metadata=_told("true: the worktree's folder must be on disk."))


@value
class SchedulePolicy:
    """Everything an owner decides about the order of work in a workspace (interfaces.md §2)."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    weights: Weights = field(default_factory=Weights)
    merge_queue_threshold: Annotated[int, Interval(ge=1, le=1_000_000)] = field(
        default=3, metadata=_told("Queued and running merges from which a repository is under pressure.")
    )
    merge_pressure_penalty: float = field(
        default=2.0, metadata=_finite("Taken off the score of a node whose repository is under pressure.")
    )
    skip_on_merge_pressure: bool = field(
        default=False, metadata=_told("true: nodes under pressure are not offered, but reported as skipped.")
    )
    graph_overrides: Mapping[Name, WeightOverride] = field(
        default_factory=dict, metadata=_told("Weights of single graphs, by graph id.")
    )
    ordering: Literal["score"] = field(
        default="score", metadata=_told("How nodes of different graphs are ordered: all by their score.")
    )
    slots: Annotated[int, Interval(ge=1, le=1_000_000)] | None = field(
        default=None, metadata=_told("Slots that running nodes of the workspace may take at once; null is no limit.")
    )
    agent_slots: Annotated[int, Interval(ge=0, le=1_000_000)] = field(
        default=1, metadata=_told("Leases that one agent may hold at once.")
    )
    queue_capacity: Annotated[int, Interval(ge=0, le=1_000_000)] = field(
        default=1_000, metadata=_told("Nodes that may be accepted and not started yet, of all agents together.")
    )
    groups: Mapping[Name, GroupPolicy] = field(default_factory=dict, metadata=_told("Limits of Groups, by graph id."))
    agents: Mapping[Name, AgentPolicy] = field(
        default_factory=dict, metadata=_told("What agents can do, by a pattern of their ids; * stands for anything.")
    )
    resources: Mapping[Name, ResourcePolicy] = field(
        default_factory=dict, metadata=_told("What nodes and agents share by `uses`, by name.")
    )
    fairness_window: Annotated[int, Interval(ge=1, le=10_000)] = field(
        default=100, metadata=_told("How many of the newest decisions whose node then ran weights.fairness counts.")
    )
    deadline_horizon_seconds: Annotated[int, Interval(ge=0, le=1_000_000_000)] = field(
        default=86_400,
        metadata=_told("Seconds before deadline minus estimated run time from which a node is due soon."),
    )
    leases: LeasePolicy = field(default_factory=LeasePolicy)
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    gates: GatePolicy = field(default_factory=GatePolicy)
    affinity: AffinityPolicy = field(default_factory=AffinityPolicy)


WEIGHT_NAMES: Final = tuple(each.name for each in fields(Weights))
# The keys of RFC-0012, which an agent may set; the rest is Organization policy (interfaces.md §4).
RFC_KEYS: Final = (
    "weights",
    "merge_queue_threshold",
    "merge_pressure_penalty",
    "skip_on_merge_pressure",
    "graph_overrides",
)
# Keys that the metagit command line knows; all others it drops when it rewrites the file (interfaces.md §1).
FOREIGN_WEIGHTS: Final = ("priority", "affinity", "cost", "fairness")


@value
class MicroWeights:
    """The effective weights of one graph in whole micros."""

    priority: int
    dependency: int
    affinity: int
    cost: int
    fairness: int
    urgency: int
    deadline: int


def micros(number: float) -> int:
    """Return a decimal as whole micros, rounded half-even at the sixth place."""
    return int(Decimal(repr(number)).scaleb(6).to_integral_value(ROUND_HALF_EVEN))


def has_excess_places(number: float) -> bool:
    """Say whether a decimal has more than six places, so that `micros` rounds it."""
    return Decimal(micros(number)).scaleb(-6) != Decimal(repr(number))


def weights_for(policy: SchedulePolicy, graph_id: str) -> MicroWeights:
    """Return the weights of one graph: its override where it names one, else the workspace's."""
    override = policy.graph_overrides.get(graph_id)

    def chosen(name: str) -> int:
        own: float | None = getattr(override, name, None)
        return micros(getattr(policy.weights, name) if own is None else own)

    return MicroWeights(**{name: chosen(name) for name in WEIGHT_NAMES})


def quota_for(policy: SchedulePolicy, graph_id: str) -> int | None:
    """Return the Group's quota in slots, or None for no limit."""
    group = policy.groups.get(graph_id)
    return None if group is None else group.quota


def _agents_like(policy: SchedulePolicy, agent_id: str) -> list[AgentPolicy]:
    """Return what policy says of the agent, by its patterns in their order; `*` fits anything."""
    if not agent_id or not policy.agents:
        return []
    return [policy.agents[pattern] for pattern in sorted(policy.agents) if fnmatchcase(agent_id, pattern)]


def granted_capabilities(policy: SchedulePolicy, agent_id: str) -> frozenset[str] | None:
    """Return what policy says the agent can do, or None when no pattern names it."""
    found = _agents_like(policy, agent_id)
    return frozenset(name for agent in found for name in agent.capabilities) if found else None


def slots_of_agent(policy: SchedulePolicy, agent_id: str) -> int:
    """Return how many leases the agent may hold at once: the least that a pattern names, else `agent_slots`."""
    named = [agent.slots for agent in _agents_like(policy, agent_id) if agent.slots is not None]
    return min(named, default=policy.agent_slots)


def uses_of_agent(policy: SchedulePolicy, agent_id: str) -> dict[str, int]:
    """Return the units of resources that each lease of the agent takes, whatever its node uses."""
    found: dict[str, int] = {}
    for agent in _agents_like(policy, agent_id):
        for name, units in agent.uses.items():
            found[name] = max(found.get(name, 0), units)
    return found


def budget_for(policy: SchedulePolicy, graph_id: str, own: Mapping[str, int] | None) -> Mapping[str, int] | None:
    """Return what a node may use: its own budget, else its Group's, else None for no limit."""
    if own is not None:
        return own
    group = policy.groups.get(graph_id)
    return None if group is None or group.budget is None else {str(name): most for name, most in group.budget.items()}


def is_reviewed(policy: SchedulePolicy, graph_id: str) -> bool:
    """Say whether a person accepts the Group's finished work before it counts as done."""
    group = policy.groups.get(graph_id)
    return group is not None and group.review


def backoff_seconds(policy: SchedulePolicy, failures: int) -> int:
    """Return the wait after so many failures (1 or more): doubled with each one, up to the longest."""
    retries = policy.retries
    return min(retries.max_backoff_seconds, retries.backoff_seconds << min(failures - 1, 40))
