"""What only a person can set going, each with the command or the file that does it. Reads nothing and ends nothing.

First what holds back many nodes at once (pauses without an end, limits that let nothing start), then single nodes.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from metagit_mcp.application.next_steps import (
    approve_command,
    graph_file,
    policy_command,
    resume_command,
    retry_command,
    review_command,
    update_command,
)
from metagit_mcp.application.turns.shared import View
from metagit_mcp.domain.graph import Structure
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.tasks import STATUSES, TaskNode
from metagit_mcp.domain.text import shown, shown_name, shown_or_none
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import Pause
from metagit_mcp.scheduling.cycle import Held
from metagit_mcp.scheduling.demand import Demand, Units, with_own
from metagit_mcp.scheduling.eligibility import Reason, ReasonKind
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.wire.policy_problems import POLICY_FILE
from metagit_mcp.wire.status_answers import PersonNeeded


def persons_needed(
    view: View, asker: Asker, graph_ids: Sequence[str], limit: int, *, alone: bool = False
) -> tuple[tuple[PersonNeeded, ...], int]:
    """Return what needs a person in these Groups, the first `limit`, and how much there is in all.

    Of one Group `alone` nothing is told that is about others (ADR 0032).
    """
    groups = [view.queue.groups[name] for name in graph_ids]
    wide = [pause_need(pause) for pause in lasting_pauses(view, asker, groups, alone=alone)]
    wide += limit_needs(view, asker, groups, alone=alone)
    total, single = len(wide), list[Iterator[PersonNeeded]]()
    for group in groups:
        stuck = view.queue.holds(group.graph_id).for_person
        total += len(stuck) + (not group.loaded.is_whole)
        single.append(_nodes(group, stuck))
    return tuple(islice(chain(wide, *single), limit)), total


# --- pauses and leases ------------------------------------------------------------------------------------------------


def pauses_about(view: View, asker: Asker, graph_id: str | None) -> list[Pause]:
    """Return the pauses in force, or those that keep the asker from anything of one Group."""
    pauses = list(view.work.pauses_at(view.now))
    if graph_id is None:
        return pauses
    group, own = view.queue.groups[graph_id], {name for name, _ in view.queue.units_of(asker.agent_id)}
    own |= needed_resources(group)
    known = {"workspace": {""}, "group": {graph_id}, "agent": {asker.agent_id}, "resource": own}
    return [pause for pause in pauses if pause.name in known[pause.scope]]


def needed_resources(group: GroupQueue) -> set[str]:
    """Return the resources and keys that any node of the Group needs."""
    return {name for node in group.rules.shape.by_id.values() for name in (*(node.uses or ()), *(node.exclusive or ()))}


def lasting_pauses(view: View, asker: Asker, groups: Sequence[GroupQueue], *, alone: bool) -> list[Pause]:
    """Return the pauses without an end that keep anything of these Groups from starting."""
    pauses = pauses_about(view, asker, groups[0].graph_id if alone else None)
    lasting = [pause for pause in pauses if pause.until is None]
    held = (pause for pause in lasting if any(_is_held_by(pause, group) for group in groups))
    return sorted(held, key=lambda each: (each.scope, each.name))


def pause_need(pause: Pause) -> PersonNeeded:
    """Return a pause without an end as what a person can end."""
    name = f" {shown_name(pause.name)}" if pause.name else ""
    return PersonNeeded(
        graph_id=pause.name if pause.scope == "group" else None,
        reason=f"paused({pause.scope}{name}, by {shown_name(pause.by)})",
        command=resume_command(pause.scope, pause.name),
        note=shown_or_none(pause.reason, 500),
    )


def _is_held_by(pause: Pause, group: GroupQueue) -> bool:
    """Say whether something of the Group could start, but for the pause; an agent's keeps it from all there is."""
    if not group.repositories:
        return False
    if pause.scope == "resource":
        return any(len(lane) and pause.name in _resources(lane.demand) for lane in group.lanes)
    return pause.scope != "group" or pause.name == group.graph_id


def _resources(demand: Demand) -> set[str]:
    return {name for name, _ in demand.uses} | set(demand.exclusive)


def _agent_slots(policy: SchedulePolicy, groups: Sequence[GroupQueue]) -> Iterator[PersonNeeded]:
    """Yield that no agent may hold a lease, where that keeps anything from starting."""
    if not any(group.repositories for group in groups):
        return
    everybody = policy.agents.get("*")
    patch: Mapping[str, Any] | None = None
    if everybody is not None and everybody.slots == 0:
        patch = {"agents": {"*": {"slots": 1}}}
    elif policy.agent_slots == 0 and not any(each.slots for each in policy.agents.values()):
        patch = {"agent_slots": 1}
    if patch is not None:
        yield PersonNeeded(reason="agent_slots(0/0)", command=policy_command(patch))


def limit_needs(view: View, asker: Asker, groups: Sequence[GroupQueue], *, alone: bool) -> list[PersonNeeded]:
    """Return the limits that let nothing of what is ready in these Groups ever start."""
    own = view.queue.units_of(asker.agent_id)
    found = list(_agent_slots(view.policy, groups))
    for group in groups:
        found += _limits(view, group, own, alone=alone)
    return found


# --- limits that no end of work can meet ------------------------------------------------------------------------------


@value
class _Lack:
    """What a node needs of a limit that it can never get."""

    needed: int
    reason: str
    patch: Mapping[str, Any]


def _limits(view: View, group: GroupQueue, own: Units, *, alone: bool) -> Iterator[PersonNeeded]:
    """Yield the limits that are too small for ready nodes of the Group, each once: with what the largest needs."""
    found: dict[str, tuple[_Lack, str, int]] = {}
    for lane in group.lanes:
        for limit, lack in _lacks(view, group, lane.demand, own, alone=alone) if len(lane) else ():
            first = lane.entry(0)
            node_id = "" if first is None else first[2]
            known = found.get(limit)
            most, named = (lack, node_id) if known is None or lack.needed > known[0].needed else known[:2]
            found[limit] = (most, named, len(lane) + (0 if known is None else known[2]))
    for _, (lack, node_id, nodes) in sorted(found.items()):
        yield PersonNeeded(
            graph_id=group.graph_id,
            node_id=node_id,
            nodes=nodes,
            title=shown(group.rules.shape.by_id[node_id].title),
            reason=lack.reason,
            command=policy_command(lack.patch),
        )


def _lacks(view: View, group: GroupQueue, demand: Demand, own: Units, *, alone: bool) -> Iterator[tuple[str, _Lack]]:
    """Yield each limit that is too small for a demand, by its key in the policy.

    Slots that a run of another program holds are not of them: they come back when it ends.
    """
    needed, slots, quota = demand.slots, view.policy.slots, group.quota
    if quota is not None and needed > quota:
        patch: Mapping[str, Any] = {"groups": {group.graph_id: {"quota": needed}}}
        yield "quota", _Lack(needed=needed, reason=f"never_fits({needed} slots, limit {quota})", patch=patch)
    if slots is not None and needed > slots:
        patch = {"slots": needed}
        yield "slots", _Lack(needed=needed, reason=f"never_fits({needed} slots, limit {slots})", patch=patch)
    for name, units in with_own(demand.uses, own):
        resource = view.policy.resources.get(name)
        if resource is not None and units > resource.capacity:
            held = "capacity " if alone else f"{view.queue.holdings.units[name]}/"
            reason = f"resource_busy({shown_name(name)}, {held}{resource.capacity})"
            patch = {"resources": {name: {"capacity": units}}}
            yield f"resources {name}", _Lack(needed=units, reason=reason, patch=patch)


# --- files and single nodes -------------------------------------------------------------------------------------------


def _nodes(group: GroupQueue, stuck: Sequence[Held]) -> Iterator[PersonNeeded]:
    """Yield what only a person can set going in a graph: its file, if not all of it can be used, and single nodes."""
    if not group.loaded.is_whole:
        yield file_need(group.graph_id)
    for held in stuck:
        yield node_need(group, held)


def file_need(graph_id: str) -> PersonNeeded:
    """Return a graph file of which not all can be used as what a person can mend."""
    return PersonNeeded(graph_id=graph_id, reason="graph_invalid", file=graph_file(graph_id))


def node_need(group: GroupQueue, held: Held) -> PersonNeeded:
    """Return a node that waits for a person, with the command or the file that sets it going."""
    graph_id, node, reason = group.graph_id, held.node, held.reason
    item = group.rules.items.get(node.node_id)
    return PersonNeeded(
        graph_id=graph_id,
        node_id=node.node_id,
        title=shown(node.title),
        reason=reason.text,
        command=_mending(group, node, reason, is_parked=item is not None and item.state == "parked"),
        file=_file_to_mend(graph_id, node, reason.kind),
        note=reason.note or None,
    )


def _mending(group: GroupQueue, node: TaskNode, reason: Reason, *, is_parked: bool) -> str | None:
    """The command that ends the reason; None where only the file can be mended."""
    graph_id, kind = group.graph_id, reason.kind
    if kind == "awaiting_approval":
        return approve_command(graph_id, node.node_id)
    if kind == "awaiting_review":
        return review_command(graph_id, node.node_id)
    if kind == "blocked" and is_parked:
        return retry_command(graph_id, node.node_id)
    shape = group.rules.shape
    if kind in {"blocked", "observed"} or reason.detail.startswith("unknown status "):
        return update_command(graph_id, node.node_id, "--status", "ready", *_cuts(shape, node))
    if kind == "not_ready":
        at_fault = _at_fault(shape, node, reason.detail)
        status = () if at_fault.status in STATUSES else ("--status", "ready")
        flags = (*status, *_cuts(shape, at_fault)) or ("--depends-on", "NODE")
        return update_command(graph_id, at_fault.node_id, *flags)
    return None


def _at_fault(shape: Structure, node: TaskNode, detail: str) -> TaskNode:
    """The node that makes this one wait in vain: it, a parent whose own parent is lost, or one of its circle."""
    if detail.startswith("parent "):
        lost = shape.lost[node.parent_id or ""]
        while node.parent_id != lost:
            node = shape.by_id[node.parent_id or ""]
    elif detail.startswith("cycle "):
        circle = shape.cycles[node.node_id]
        several = (node, *(shape.by_id[name] for name in circle))
        return next((each for each in several if not {*each.depends_on, each.parent_id}.isdisjoint(circle)), node)
    return node


def _cuts(shape: Structure, node: TaskNode) -> Iterator[str]:
    """Yield the flags of all that a node waits for in vain: a change that leaves some of it is refused."""
    circle = shape.cycles.get(node.node_id, ())
    if any(name in circle or _is_lost(shape, name) for name in node.depends_on):
        yield from ("--depends-on", "NODE")
    above = node.parent_id
    if above is not None and (above in circle or _is_lost(shape, above)):
        yield from ("--clear", "parent_id")


def _is_lost(shape: Structure, name: str) -> bool:
    return name not in shape.by_id or shape.by_id[name].status == "cancelled"


def _file_to_mend(graph_id: str, node: TaskNode, kind: ReasonKind) -> str | None:
    """The file that has to change, where no command does it; a budget that is not the node's is its Group's."""
    if kind == "graph_invalid" or (kind == "budget_exhausted" and node.budget):
        return graph_file(graph_id)
    return POLICY_FILE if kind == "budget_exhausted" else None
