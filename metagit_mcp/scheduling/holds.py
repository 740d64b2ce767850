"""Which nodes of a Group wait, and whether only a person can end it. Knows no other Group and no asker."""

from typing import Final

from metagit_mcp.domain.tasks import FINISHED_STATUSES, TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.eligibility import GroupRules, Reason, intrinsic, reason_for_person


@value
class Held:
    """A node that may not run yet, with the reason that counts."""

    node: TaskNode
    reason: Reason


@value
class Holds:
    """The nodes of one active Group that wait, by id: those that only a person can set going, and the others."""

    for_person: tuple[Held, ...] = ()
    for_others: tuple[Held, ...] = ()


_OVER: Final = frozenset({*FINISHED_STATUSES, "running"})


def holds_of(rules: GroupRules) -> Holds:
    """Return the nodes of a Group that wait; none in one that is not active."""
    for_person: list[Held] = []
    for_others: list[Held] = []
    for _, node in sorted(rules.shape.by_id.items()) if rules.active else ():
        stuck = reason_for_person(rules, node)
        if stuck is not None:
            for_person.append(Held(node=node, reason=stuck))
        elif node.status not in _OVER and (first := next(intrinsic(rules, node), None)) is not None:
            for_others.append(Held(node=node, reason=first))
    return Holds(for_person=tuple(for_person), for_others=tuple(for_others))
