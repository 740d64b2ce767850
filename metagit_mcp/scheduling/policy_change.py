"""What a change of policy touches, so that nothing else is looked at again. Knows no node."""

from collections.abc import Iterable, Iterator
from dataclasses import field, fields
from typing import Final

from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy, weights_for
from metagit_mcp.domain.value import value

# What neither the order of nodes nor who may have them depends on; limits of agents are read at each ask.
_FELT_NOWHERE: Final = frozenset(
    {"agent_slots", "queue_capacity", "retries", "preemption", "fairness_window", "leases"}
)
# What decides whether a node is ready, or how it is scored.
_OBSERVED: Final = "leases.observed_seconds"
_JUDGES: Final = frozenset({"deadline_horizon_seconds", "gates", _OBSERVED})
_OF_GROUPS: Final = frozenset({"groups", "weights", "graph_overrides", "classes"})
_NO_GROUP: Final = GroupPolicy()


@value
class PolicyChange:
    """The Groups to be `judged` anew, node by node, to be `weighed` anew, or whose share or quota changed.

    `is_whole`: every asker sees another thing than before.
    """

    is_whole: bool = False
    judged: frozenset[str] = field(default_factory=frozenset)
    weighed: frozenset[str] = field(default_factory=frozenset)
    shared: frozenset[str] = field(default_factory=frozenset)


def policy_change(before: SchedulePolicy, after: SchedulePolicy, graph_ids: Iterable[str]) -> PolicyChange:
    """Return what another policy changes for these Groups."""
    if before is after:
        return PolicyChange()
    changed = set(_changed(before, after))
    every = frozenset(graph_ids)
    if changed & _JUDGES:
        return PolicyChange(is_whole=True, judged=every)
    groups = {name for name in before.groups.keys() | after.groups.keys() if _of(before, name) != _of(after, name)}
    is_reweighed = bool(changed & {"weights", "graph_overrides"})
    return PolicyChange(
        is_whole=bool(changed - _OF_GROUPS),
        judged=every & {name for name in groups if _of(before, name).budget != _of(after, name).budget},
        weighed=frozenset(
            name for name in every if is_reweighed and weights_for(before, name) != weights_for(after, name)
        ),
        shared=every & groups,
    )


def _changed(before: SchedulePolicy, after: SchedulePolicy) -> Iterator[str]:
    """Yield the keys that are other than before and felt somewhere."""
    for each in fields(SchedulePolicy):
        name = each.name
        if name not in _FELT_NOWHERE and getattr(before, name) != getattr(after, name):
            yield name
    if before.leases.observed_seconds != after.leases.observed_seconds:
        yield _OBSERVED


def _of(policy: SchedulePolicy, graph_id: str) -> GroupPolicy:
    return policy.groups.get(graph_id, _NO_GROUP)
