"""The schedule policy: weights, limits and gates of a workspace. Knows no file and no node.

Weights and the penalty are decimals of at most six places; the core works with them as whole micros.
"""

from collections.abc import Mapping
from dataclasses import field, fields
from decimal import ROUND_HALF_EVEN, Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Annotated, Final, Literal, get_args

from metagit_mcp.domain.bounds import Interval
from metagit_mcp.domain.limits import (
    AgentPolicy,
    DisclosurePolicy,
    GatePolicy,
    LeasePolicy,
    Limit,
    PreemptionPolicy,
    ResourcePolicy,
    RetryPolicy,
    told,
)
from metagit_mcp.domain.tasks import Name
from metagit_mcp.domain.value import value

MICRO: Final = 1_000_000
# allow_inf_nan stands in the field metadata: the bounds have no word for "finite".
_FINITE: Final = {"ge": 0, "le": 1_000_000, "allow_inf_nan": False}


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
PriorityClass = Literal["critical", "high", "normal", "low"]
# The most urgent first: its place is a class's rank (scheduling.md §3 rule 4).
CLASSES: Final[tuple[PriorityClass, ...]] = get_args(PriorityClass)
# Whole numbers 1 to 16, so that LCM / weight is exact (scheduling.md §3).
ShareWeight = Annotated[int, Interval(ge=1, le=16)]


@value
class ClassWeights:
    """The weight of each priority class of Groups, 1 to 16: what it is given goes by it (scheduling.md §3)."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    critical: ShareWeight = field(
        default=16, metadata=told("Weight of the class critical against the classes that have work.")
    )
    high: ShareWeight = field(default=8, metadata=told("Weight of the class high against the classes that have work."))
    normal: ShareWeight = field(
        default=4, metadata=told("Weight of the class normal against the classes that have work.")
    )
    low: ShareWeight = field(default=1, metadata=told("Weight of the class low against the classes that have work."))


@value
class GroupPolicy:
    """One Group's share and limits, how its work ends, and what its agents may load."""

    __pydantic_config__ = {"extra": "forbid", "strict": True, "serialize_by_alias": True}

    priority_class: PriorityClass = field(
        default="normal", metadata={"alias": "class", **told("The Group's priority class.")}
    )
    weight: ShareWeight = field(
        default=1, metadata=told("Weight of the Group against the Groups of its class that have work.")
    )
    quota: Annotated[int, Interval(ge=0, le=1_000_000)] | None = field(
        default=None, metadata=told("Slots that the Group's running nodes may take at once; null is no limit.")
    )
    review: bool = field(
        default=False, metadata=told("true: finished work is submitted, and done when a person accepted it.")
    )
    budget: Mapping[BudgetName, Limit] | None = field(
        default=None, metadata=told("What each node of the Group may use, unless the node says it; null is no limit.")
    )
    context_refs: tuple[Name, ...] = field(
        default=(), metadata=told("Names of contexts that agents working for the Group may load.")
    )
    credential_refs: tuple[Name, ...] = field(
        default=(), metadata=told("Names of credentials that agents working for the Group may use; never secrets.")
    )


@value
class AffinityPolicy:
    """Which worktrees make a repository warm: the pool's or the asker's own, how old, and whether on disk."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    scope: Literal["pool", "agent"] = field(
        default="pool", metadata=told("Whose worktrees count: everybody's (pool), or the asker's own (agent).")
    )
    max_age_seconds: Annotated[int, Interval(ge=1, le=1_000_000_000)] | None = field(
        default=None, metadata=told("Seconds since its last update after which a worktree is cold; null is never.")
    )
    require_path: bool = field(default=True, metadata=told("true: the worktree's folder must be on disk."))


@value
class SchedulePolicy:
    """Everything an owner decides about the order of work in a workspace (interfaces.md §2)."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    weights: Weights = field(default_factory=Weights)
    merge_queue_threshold: Annotated[int, Interval(ge=1, le=1_000_000)] = field(
        default=3, metadata=told("Queued and running merges from which a repository is under pressure.")
    )
    merge_pressure_penalty: float = field(
        default=2.0, metadata=_finite("Taken off the score of a node whose repository is under pressure.")
    )
    skip_on_merge_pressure: bool = field(
        default=False, metadata=told("true: nodes under pressure are not offered, but reported as skipped.")
    )
    graph_overrides: Mapping[Name, WeightOverride] = field(
        default_factory=dict, metadata=told("Weights of single graphs, by graph id.")
    )
    ordering: Literal["fair", "score"] = field(
        default="fair",
        metadata=told("How Groups share the agents: fair gives each its share, score takes all nodes by their score."),
    )
    slots: Annotated[int, Interval(ge=1, le=1_000_000)] | None = field(
        default=None, metadata=told("Slots that running nodes of the workspace may take at once; null is no limit.")
    )
    agent_slots: Annotated[int, Interval(ge=0, le=1_000_000)] = field(
        default=1, metadata=told("Leases that one agent may hold at once.")
    )
    queue_capacity: Annotated[int, Interval(ge=0, le=1_000_000)] = field(
        default=1_000, metadata=told("Nodes that may be accepted and not started yet, of all agents together.")
    )
    classes: ClassWeights = field(default_factory=ClassWeights)
    groups: Mapping[Name, GroupPolicy] = field(
        default_factory=dict, metadata=told("Shares and limits of Groups, by graph id.")
    )
    resources: Mapping[Name, ResourcePolicy] = field(
        default_factory=dict, metadata=told("What nodes and agents share by `uses`, by name.")
    )
    agents: Mapping[Name, AgentPolicy] = field(
        default_factory=dict, metadata=told("What agents can do, by a pattern of their ids; * stands for anything.")
    )
    pass_over_limit: Annotated[int, Interval(ge=0, le=1_000_000)] = field(
        default=20,
        metadata=told("Dispatches of its Group after which a node that was passed over goes first; 0 is never."),
    )
    fairness_window: Annotated[int, Interval(ge=1, le=10_000)] = field(
        default=100, metadata=told("How many of the newest decisions whose node then ran weights.fairness counts.")
    )
    drain_limit: Annotated[int, Interval(ge=0, le=1_000_000)] = field(
        default=3, metadata=told("Other starts while a node waits for several slots; then slots are kept for it.")
    )
    deadline_horizon_seconds: Annotated[int, Interval(ge=0, le=1_000_000_000)] = field(
        default=86_400,
        metadata=told("Seconds before deadline minus estimated run time from which a node is due soon."),
    )
    deadline_window: Annotated[int, Interval(ge=0, le=1_000_000)] = field(
        default=8,
        metadata=told(
            "Units of cost at weight 1 by which a more pressing next node may bring its Group before others."
        ),
    )
    class_window: Annotated[int, Interval(ge=0, le=1_000_000)] = field(
        default=0, metadata=told("Units of cost at weight 1 by which a more urgent class may go before others.")
    )
    leases: LeasePolicy = field(default_factory=LeasePolicy)
    preemption: PreemptionPolicy = field(default_factory=PreemptionPolicy)
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    gates: GatePolicy = field(default_factory=GatePolicy)
    affinity: AffinityPolicy = field(default_factory=AffinityPolicy)
    disclosure: DisclosurePolicy = field(default_factory=DisclosurePolicy)


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
    return _effective(policy.weights, policy.graph_overrides.get(graph_id))


@lru_cache(maxsize=1024)
def _effective(weights: Weights, override: WeightOverride | None) -> MicroWeights:
    def chosen(name: str) -> int:
        own: float | None = getattr(override, name, None)
        return micros(getattr(weights, name) if own is None else own)

    return MicroWeights(**{name: chosen(name) for name in WEIGHT_NAMES})


def quota_for(policy: SchedulePolicy, graph_id: str) -> int | None:
    """Return the Group's quota in slots, or None for no limit."""
    group = policy.groups.get(graph_id)
    return None if group is None else group.quota


def class_of(policy: SchedulePolicy, graph_id: str) -> PriorityClass:
    """Return the Group's priority class."""
    group = policy.groups.get(graph_id)
    return "normal" if group is None else group.priority_class


def weight_of(policy: SchedulePolicy, graph_id: str) -> int:
    """Return the Group's weight inside its class, 1 to 16."""
    group = policy.groups.get(graph_id)
    return 1 if group is None else group.weight


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
