"""The nouns of a workload: who brings which nodes when, for how many agents, under which policy. Decides nothing.

These dataclasses are the wire types of a workload file too.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Annotated, Any, ClassVar, Final

from annotated_types import Interval, MaxLen, MinLen

from metagit_mcp.domain.policy import GroupPolicy, PriorityClass, SchedulePolicy, ShareWeight
from metagit_mcp.domain.tasks import Urgency
from metagit_mcp.domain.text import ID_PATTERN
from metagit_mcp.domain.value import value

MOST_NODES: Final = 100_000
MOST_GROUPS: Final = 10_000
_YEARS: Final = 100_000_000


def _told(description: str, **more: object) -> dict[str, object]:
    return {"description": description, **more}


@value
class Arrivals:
    """Some nodes of one kind that come into a Group one after another."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = {"extra": "forbid", "strict": True}

    nodes: Annotated[int, Interval(ge=1, le=MOST_NODES)] = field(default=1, metadata=_told("How many nodes come."))
    at_seconds: Annotated[int, Interval(ge=0, le=_YEARS)] = field(
        default=0, metadata=_told("When the first one comes, in seconds from the start of the run.")
    )
    every_seconds: Annotated[int, Interval(ge=0, le=_YEARS)] = field(
        default=0, metadata=_told("Seconds from one to the next; 0: all come at once.")
    )
    runtime_seconds: Annotated[int, Interval(ge=1, le=86_400)] = field(
        default=60, metadata=_told("How long an agent works on one.")
    )
    estimated_tokens: Annotated[int, Interval(ge=0, le=1_000_000_000)] = field(
        default=1_000, metadata=_told("What the node says that it will use; it is charged for that when it starts.")
    )
    tokens: Annotated[int, Interval(ge=0, le=1_000_000_000)] | None = field(
        default=None, metadata=_told("What its agent reports in the end; null: just the estimate.")
    )
    spread_percent: Annotated[int, Interval(ge=0, le=100)] = field(
        default=0,
        metadata=_told("Tokens and times of each node are drawn by the seed from so many percent around those here."),
    )
    priority: Annotated[int, Interval(ge=-1_000_000, le=1_000_000)] = field(
        default=0, metadata=_told("Higher is more urgent, inside the Group.")
    )
    slots: Annotated[int, Interval(ge=1, le=1_000_000)] = field(default=1, metadata=_told("Slots that one takes."))
    due_seconds: Annotated[int, Interval(ge=-_YEARS, le=_YEARS)] | None = field(
        default=None,
        metadata=_told("The deadline, in seconds after the node came; negative: it is late when it comes."),
    )
    requested_urgency: Urgency | None = field(default=None, metadata=_told("What the node says of its urgency."))


@value
class SimulatedGroup:
    """One Group of a workload: its share, and the nodes that come into it."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = {
        "extra": "forbid",
        "strict": True,
        "serialize_by_alias": True,
    }

    graph_id: str = field(
        metadata=_told("The Group's id.", pattern=ID_PATTERN, min_length=1, max_length=255),
    )
    arrivals: Annotated[tuple[Arrivals, ...], MinLen(1), MaxLen(1_000)] = field(
        metadata=_told("The nodes that come, kind by kind.")
    )
    priority_class: PriorityClass | None = field(
        default=None, metadata=_told("The Group's priority class; null: as the policy says.", alias="class")
    )
    weight: ShareWeight | None = field(
        default=None, metadata=_told("Its share inside the class; null: as the policy says.")
    )
    quota: Annotated[int, Interval(ge=0, le=1_000_000)] | None = field(
        default=None, metadata=_told("Slots that its running nodes may take at once; null: as the policy says.")
    )


@value
class Workload:
    """What a policy is tried on: Groups with their nodes, and agents that ask for the next one when they are free."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = {"extra": "forbid", "strict": True}

    groups: Annotated[tuple[SimulatedGroup, ...], MinLen(1), MaxLen(MOST_GROUPS)] = field(
        metadata=_told("Who brings work.")
    )
    title: Annotated[str, MaxLen(200)] = field(default="", metadata=_told("What the workload is about."))
    agents: Annotated[int, Interval(ge=1, le=10_000)] = field(
        default=4, metadata=_told("Agents, each with one node at a time.")
    )
    duration_seconds: Annotated[int, Interval(ge=1, le=_YEARS)] | None = field(
        default=None, metadata=_told("When the run is cut off; null: when all work is done.")
    )
    policy: SchedulePolicy = field(
        default_factory=SchedulePolicy,
        metadata=_told("The policy, or the keys of it that count; without slots there is one for each agent."),
    )


def policy_in_force(workload: Workload) -> SchedulePolicy:
    """Return the policy of the run: with a slot for each agent unless it says another number, and the Groups' own."""
    policy = workload.policy
    groups: dict[str, GroupPolicy] = dict(policy.groups)
    for each in workload.groups:
        own = {name: said for name in _SHARED if (said := getattr(each, name)) is not None}
        if own:
            groups[each.graph_id] = _with(groups.get(each.graph_id) or GroupPolicy(), own)
    return replace(policy, slots=policy.slots or workload.agents, groups=groups)


_SHARED: Final = ("priority_class", "weight", "quota")


def _with(group: GroupPolicy, own: Mapping[str, Any]) -> GroupPolicy:
    return replace(group, **own)


def nodes_of(workload: Workload) -> int:
    """Return how many nodes come in all."""
    return sum(arrivals.nodes for group in workload.groups for arrivals in group.arrivals)
