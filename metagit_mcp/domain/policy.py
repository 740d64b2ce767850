"""The schedule policy: weights, limits and gates of a workspace. Knows no file and no node.

Weights and the penalty are decimals of at most six places; the core works with them as whole micros.
"""

from collections.abc import Mapping
from dataclasses import field, fields
from decimal import ROUND_HALF_EVEN, Decimal
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal

from annotated_types import Interval

from metagit_mcp.domain.tasks import Name, Risk
from metagit_mcp.domain.value import value

MICRO: Final = 1_000_000
# allow_inf_nan stands in the field metadata: annotated_types has no word for "finite".
_FINITE: Final = {"ge": 0, "le": 1_000_000, "allow_inf_nan": False}


@value
class Weights:
    """How much each factor of the score counts (scheduling.md §2)."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    priority: float = field(default=1.0, metadata=_FINITE)
    dependency: float = field(default=0.2, metadata=_FINITE)
    affinity: float = field(default=0.5, metadata=_FINITE)
    cost: float = field(default=0.25, metadata=_FINITE)
    fairness: float = field(default=0.0, metadata=_FINITE)
    urgency: float = field(default=1.0, metadata=_FINITE)
    deadline: float = field(default=1.0, metadata=_FINITE)


@value
class WeightOverride:
    """Weights of one graph; None inherits the workspace's weight."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    priority: float | None = field(default=None, metadata=_FINITE)
    dependency: float | None = field(default=None, metadata=_FINITE)
    affinity: float | None = field(default=None, metadata=_FINITE)
    cost: float | None = field(default=None, metadata=_FINITE)
    fairness: float | None = field(default=None, metadata=_FINITE)
    urgency: float | None = field(default=None, metadata=_FINITE)
    deadline: float | None = field(default=None, metadata=_FINITE)


@value
class GroupPolicy:
    """Limits of one Group; `quota` is the number of slots its running nodes may take, None is no limit."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    quota: Annotated[int, Interval(ge=0, le=1_000_000)] | None = None


@value
class AgentPolicy:
    """What the agents whose id fits a pattern can do; an ask may narrow it, never widen it."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    capabilities: tuple[Name, ...] = ()


@value
class GatePolicy:
    """Risks that need a person's approval before the node may run."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    approval_required_for: tuple[Risk, ...] = ("high_risk", "destructive")


@value
class AffinityPolicy:
    """Which worktrees make a repository warm: the pool's or the asker's own, how old, and whether on disk."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    scope: Literal["pool", "agent"] = "pool"
    max_age_seconds: Annotated[int, Interval(ge=1, le=1_000_000_000)] | None = None
    require_path: bool = True


@value
class SchedulePolicy:
    """Everything an owner decides about the order of work in a workspace (interfaces.md §2)."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}

    weights: Weights = field(default_factory=Weights)
    merge_queue_threshold: Annotated[int, Interval(ge=1, le=1_000_000)] = 3
    merge_pressure_penalty: float = field(default=2.0, metadata=_FINITE)
    skip_on_merge_pressure: bool = False
    graph_overrides: Mapping[Name, WeightOverride] = field(default_factory=dict)
    ordering: Literal["score"] = "score"
    slots: Annotated[int, Interval(ge=1, le=1_000_000)] | None = None
    groups: Mapping[Name, GroupPolicy] = field(default_factory=dict)
    agents: Mapping[Name, AgentPolicy] = field(default_factory=dict)
    fairness_window: Annotated[int, Interval(ge=1, le=10_000)] = 100
    deadline_horizon_seconds: Annotated[int, Interval(ge=0, le=1_000_000_000)] = 86_400
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


def granted_capabilities(policy: SchedulePolicy, agent_id: str) -> frozenset[str] | None:
    """Return what policy says the agent can do, or None when no pattern names it. `*` fits anything."""
    found = [policy.agents[pattern] for pattern in sorted(policy.agents) if fnmatchcase(agent_id, pattern)]
    if not agent_id or not found:
        return None
    return frozenset(name for agent in found for name in agent.capabilities)
