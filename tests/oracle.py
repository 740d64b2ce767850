"""The slow, plain reading of the scheduling rules: every node scored and judged on its own, plans by brute force.

It must not share code with the core: it uses the domain's dataclasses as records, none of their functions, and
nothing of `scheduling`. Exact numbers are fractions; sets of nodes are walked again for every question.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import TYPE_CHECKING

import networkx as nx

from tests.oracle_needs import agents_like, contended, paused, spent
from tests.oracle_world import (
    FINISHED,
    Found,
    Tree,
    Vouched,
    World,
    every_node,
    item_of,
    nodes_of,
    place,
    slots,
    written_at,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from metagit_mcp.domain.policy import SchedulePolicy
    from metagit_mcp.domain.tasks import TaskNode

__all__ = ["Found", "Tree", "Vouched", "World", "every_node", "place"]

URGENCIES = {None: 0, "routine": -1, "normal": 0, "high": 1, "critical": 2}
KNOWN = {"pending", "ready", "blocked", "running", "completed", "cancelled"}

# --- the graph -------------------------------------------------------------------------------------------------


def parents_of(nodes: Mapping[str, TaskNode], node_id: str) -> list[str]:
    """The ids above a node, nearest first; a circle is gone round once, and never back to the node."""
    found: list[str] = []
    at = nodes[node_id].parent_id
    while at is not None and at != node_id and at not in found:
        found.append(at)
        at = nodes[at].parent_id if at in nodes else None
    return found


def handed_down(nodes: Mapping[str, TaskNode], parent_id: str) -> list[str]:
    """The dependencies of a parent that lie outside of what is below it."""
    needed = dict.fromkeys(nodes[parent_id].depends_on)
    return [name for name in needed if name not in nodes or parent_id not in parents_of(nodes, name)]


def waits_for(nodes: Mapping[str, TaskNode], node_id: str) -> set[str]:
    """The unfinished nodes that one unfinished node waits for directly."""
    found = set(nodes[node_id].depends_on)
    found |= {name for name, node in nodes.items() if node.parent_id == node_id}
    for parent_id in parents_of(nodes, node_id):
        if parent_id in nodes and nodes[parent_id].status not in FINISHED:
            found |= set(handed_down(nodes, parent_id))
    return {name for name in found if name in nodes and nodes[name].status not in FINISHED}


def circular(nodes: Mapping[str, TaskNode]) -> set[str]:
    """The unfinished nodes that wait for themselves in the end."""
    picture: nx.DiGraph[str] = nx.DiGraph()
    for node_id, node in nodes.items():
        if node.status not in FINISHED:
            picture.add_edges_from((node_id, name) for name in waits_for(nodes, node_id))
    return {node_id for node_id in picture if any(nx.has_path(picture, name, node_id) for name in picture[node_id])}


def tokens(node: TaskNode) -> int:
    known = [each for each in (node.estimated_tokens, node.context_budget) if each is not None and each >= 0]
    return known[0] if known else 1000


def ranks(nodes: Mapping[str, TaskNode]) -> dict[str, int]:
    """Tokens of a node and of the heaviest chain of those that depend on it; inside a cycle no edge counts."""
    picture: nx.DiGraph[str] = nx.DiGraph()
    picture.add_nodes_from(nodes)
    picture.add_edges_from(
        (name, node_id) for node_id, node in nodes.items() for name in node.depends_on if name in nodes
    )
    home = {name: number for number, part in enumerate(nx.strongly_connected_components(picture)) for name in part}
    known: dict[str, int] = {}

    def rank(node_id: str) -> int:
        if node_id not in known:
            after = [rank(name) for name in picture[node_id] if home[name] != home[node_id]]
            known[node_id] = tokens(nodes[node_id]) + max(after, default=0)
        return known[node_id]

    return {node_id: rank(node_id) for node_id in nodes}


# --- may it run ------------------------------------------------------------------------------------------------


def is_approved(world: World, graph_id: str, node: TaskNode) -> bool:
    wanted = (node.title, place(node), node.risk or "", node.depends_on)
    item = item_of(world, graph_id, node)
    epoch = 1 if item is None else item.ownership_epoch
    if item is not None and (item.owner is None or item.state == "completed"):
        epoch += 1
    return (epoch, wanted) in world.approvals.get((graph_id, node.node_id), ())


def gated(world: World, graph_id: str, node: TaskNode) -> bool:
    asks = node.approval == "human_required" or node.risk in world.policy.gates.approval_required_for
    return asks and not is_approved(world, graph_id, node)


def deferred(world: World, node: TaskNode) -> bool:
    return node.not_before is not None and world.now < node.not_before


def unmet(world: World, graph_id: str, node: TaskNode) -> int:
    """How many things the node waits for by status, dependencies and hierarchy."""
    nodes = nodes_of(world, graph_id)
    count = (node.node_id in world.once(("circular", graph_id), lambda: circular(nodes))) + (node.status not in KNOWN)
    count += sum(1 for name in set(node.depends_on) if name not in nodes or nodes[name].status != "completed")
    count += sum(1 for each in nodes.values() if each.parent_id == node.node_id and each.status not in FINISHED)
    return count + sum(burden(world, graph_id, parent_id) for parent_id in parents_of(nodes, node.node_id))


def burden(world: World, graph_id: str, parent_id: str) -> int:
    nodes = nodes_of(world, graph_id)
    parent = nodes.get(parent_id)
    if parent is None or parent.status == "cancelled":
        return 1
    if parent.status == "completed":
        return 0
    needed = [name for name in handed_down(nodes, parent_id) if name not in nodes or nodes[name].status != "completed"]
    own = (parent_id in world.graphs[graph_id].defects) + (parent.status == "blocked") + (parent.status not in KNOWN)
    return own + len(needed) + deferred(world, parent) + gated(world, graph_id, parent)


def own_reasons(world: World, graph_id: str, node: TaskNode) -> list[str]:
    """The kinds of all reasons that lie in the node and its graph, in their order; not_ready once for each cause."""
    return world.once(("own", graph_id, node.node_id), lambda: _own_reasons(world, graph_id, node))


def _own_reasons(world: World, graph_id: str, node: TaskNode) -> list[str]:
    loaded = world.graphs[graph_id]
    found = ["graph_invalid"] * (node.node_id in loaded.defects)
    found += ["graph_inactive"] * (loaded.graph is None or loaded.graph.status != "active")
    if node.status in FINISHED:
        return [*found, "finished"]
    found += ["not_ready"] * unmet(world, graph_id, node)
    found += ["blocked"] * (node.status == "blocked")
    found += ["deferred"] * deferred(world, node)
    item = item_of(world, graph_id, node)
    found += ["retry_at"] * (item is not None and item.retry_at is not None and item.retry_at > world.now)
    found += ["awaiting_approval"] * gated(world, graph_id, node)
    if node.status != "running":
        return found
    if any((each.graph_id, each.node_id) == (graph_id, node.node_id) for each in world.leases):
        return [*found, "leased"]
    return [*found, "observed" if seen_running(world, graph_id, node) else "awaiting_review"]


def seen_running(world: World, graph_id: str, node: TaskNode) -> bool:
    """Another program runs it, as far as we know."""
    item = item_of(world, graph_id, node)
    is_held = any((each.graph_id, each.node_id) == (graph_id, node.node_id) for each in world.leases)
    return node.status == "running" and not is_held and (item is None or item.state != "submitted")


def overdue(world: World, node: TaskNode) -> bool:
    since = written_at(node)
    return since is not None and world.now - since >= timedelta(seconds=world.policy.leases.observed_seconds)


def observed(world: World, graph_id: str) -> int:
    """The slots of runs seen in the file."""
    graph = world.graphs[graph_id].graph
    if graph is None or graph.status != "active":
        return 0
    every = [node for node in nodes_of(world, graph_id).values() if seen_running(world, graph_id, node)]
    return sum(slots(node) for node in every if not overdue(world, node))


def all_observed(world: World) -> int:
    return sum(observed(world, graph_id) for graph_id in world.graphs)


def running(world: World, graph_id: str) -> int:
    return observed(world, graph_id) + sum(each.holding.slots for each in world.leases if each.graph_id == graph_id)


def all_running(world: World) -> int:
    return all_observed(world) + sum(each.holding.slots for each in world.leases)


def quota(world: World, graph_id: str) -> int | None:
    return world.policy.groups[graph_id].quota if graph_id in world.policy.groups else None


def standing_reasons(world: World, graph_id: str, node: TaskNode) -> list[str]:
    """The kinds of the reasons that lie in who asks and in what else runs, but for the slots in use."""
    item, limit, total = item_of(world, graph_id, node), quota(world, graph_id), world.policy.slots
    wanted = slots(node)
    waits = item is not None and item.state == "queued" and item.owner is not None
    found = ["owned"] * (item is not None and waits and item.owner != world.agent_id)
    found += ["paused"] * paused(world, graph_id, node)
    found += ["budget_exhausted"] * spent(world, graph_id, node)
    found += ["capability_missing"] * len(set(node.capabilities or ()) - world.capabilities)
    # Work under a lease holds what it needs itself.
    itself = {"exclusive", "conflicts_with", "resource_busy"} if item is not None and item.lease_id else set()
    found += [each for each in contended(world, node) if each not in itself]
    too_wide = limit is not None and wanted > limit
    if total is not None:
        too_wide = too_wide or wanted > total or (wanted > 1 and wanted > total - all_observed(world))
    found += ["never_fits"] * too_wide
    return found + ["merge_pressure"] * (world.policy.skip_on_merge_pressure and pressured(world, place(node)))


def situational_reasons(world: World, graph_id: str, node: TaskNode, *, agent: bool = True) -> list[str]:
    """The kinds of the reasons that lie in who asks and in what else runs."""
    limit, total = quota(world, graph_id), world.policy.slots
    wanted, used = slots(node), all_running(world)
    found = standing_reasons(world, graph_id, node)
    found += ["group_quota"] * (
        limit is not None and (running(world, graph_id) + wanted > limit or stopped(world, graph_id))
    )
    own = [each.slots for each in agents_like(world) if each.slots is not None]
    held = sum(1 for each in world.leases if each.agent_id == world.agent_id)
    found += ["agent_slots"] * (agent and held >= min(own, default=world.policy.agent_slots))
    found += ["reserved"] * reserved(world, graph_id, node)
    return found + ["no_slot"] * (total is not None and used + wanted > total)


def stopped(world: World, graph_id: str) -> bool:
    """Where no other start may pass a node that lacks only quota, a Group whose best node does gives nothing."""
    if world.policy.drain_limit or quota(world, graph_id) is None:
        return False
    return world.once(("stopped", graph_id), lambda: _best(world, graph_id)[1])


def reserved(world: World, graph_id: str, node: TaskNode) -> bool:
    """What is too wide keeps its place in its Group: no other node of it takes the slots that are free."""
    total = world.policy.slots
    if total is None or slots(node) > total - all_running(world) or stopped(world, graph_id):
        return False
    best = world.once(("best", graph_id), lambda: _best(world, graph_id)[0])
    return best is not None and slots(best) > total - all_running(world)


def _best(world: World, graph_id: str) -> tuple[TaskNode | None, bool]:
    """The best node that only needs free slots, and whether the best of all lacks quota."""
    nodes = nodes_of(world, graph_id).values()
    ready = [node for node in nodes if not own_reasons(world, graph_id, node)]
    every = _in_order(world, [(graph_id, node) for node in ready if not standing_reasons(world, graph_id, node)])
    limit = quota(world, graph_id)
    free = None if limit is None else limit - running(world, graph_id)
    fitting = [node for _, node in every if free is None or slots(node) <= free]
    return (fitting[0] if fitting else None), bool(every) and free is not None and slots(every[0][1]) > free


def reasons(world: World, graph_id: str, node: TaskNode, *, agent: bool = True) -> list[str]:
    own = own_reasons(world, graph_id, node)
    return own if "finished" in own else own + situational_reasons(world, graph_id, node, agent=agent)


# --- the score -------------------------------------------------------------------------------------------------


def pressured(world: World, repository: str) -> bool:
    return bool(repository) and world.merge_depth.get(repository, 0) >= world.policy.merge_queue_threshold


def warm(world: World, repository: str) -> bool:
    return bool(repository) and any(_counts(world, tree) for tree in world.trees if tree.repository == repository)


def _counts(world: World, tree: Tree) -> bool:
    rules = world.policy.affinity
    own = rules.scope == "pool" or bool(world.agent_id and tree.agent_id == world.agent_id)
    fresh = True
    if rules.max_age_seconds is not None and tree.updated_at is not None:
        fresh = world.now - tree.updated_at < timedelta(seconds=rules.max_age_seconds)
    return own and fresh and (tree.on_disk or not rules.require_path)


def due_soon(world: World, node: TaskNode) -> bool:
    if node.deadline is None:
        return False
    lead = (node.estimated_runtime_seconds or 0) + world.policy.deadline_horizon_seconds
    return node.deadline - world.now <= timedelta(seconds=lead)


def weight(world: World, graph_id: str, name: str) -> int:
    """The effective weight in micros."""
    override = world.policy.graph_overrides.get(graph_id)
    own: float | None = None if override is None else getattr(override, name)
    return in_micros(getattr(world.policy.weights, name) if own is None else own)


def in_micros(number: float) -> int:
    return round(Fraction(repr(number)) * 1_000_000)


def underserved(world: World) -> set[str]:
    """The ready repositories with the fewest services, where any graph's weights ask for them."""
    return world.once(("underserved",), lambda: _underserved(world))


def _underserved(world: World) -> set[str]:
    if not any(weight(world, graph_id, "fairness") for graph_id in world.graphs):
        return set()
    ready = {place(node) for graph_id, node in every_node(world) if not own_reasons(world, graph_id, node)} - {""}
    fewest = min((world.services.get(name, 0) for name in ready), default=0)
    return {name for name in ready if world.services.get(name, 0) == fewest}


def score(world: World, graph_id: str, node: TaskNode) -> int:
    """The score in micros: one exact rational rounded half-even, then whole micros added."""
    heaviest = world.once(("ranks", graph_id), lambda: ranks(nodes_of(world, graph_id)))
    top = max(heaviest.values())
    w = {name: weight(world, graph_id, name) for name in ("priority", "dependency", "cost", "urgency")}
    exact = Fraction(w["priority"] * node.priority + w["urgency"] * URGENCIES[node.requested_urgency])
    exact += w["dependency"] * (Fraction(heaviest[node.node_id], top) if top else 0)
    exact += w["cost"] * Fraction(1000, 1000 + tokens(node))
    total = round(exact) + weight(world, graph_id, "deadline") * due_soon(world, node)
    total += weight(world, graph_id, "affinity") * warm(world, place(node))
    total += weight(world, graph_id, "fairness") * (place(node) in underserved(world))
    return total - in_micros(world.policy.merge_pressure_penalty) * pressured(world, place(node))


# --- what comes out --------------------------------------------------------------------------------------------


def granted(policy: SchedulePolicy, agent_id: str, claimed: frozenset[str] | None) -> frozenset[str]:
    """What the asker can do: policy's word where it names the agent, which the agent can only narrow."""
    named = [agent for pattern, agent in policy.agents.items() if agent_id and fnmatchcase(agent_id, pattern)]
    if not named:
        return claimed or frozenset()
    known = frozenset(name for agent in named for name in agent.capabilities)
    return known if claimed is None else known & claimed


def _in_order(world: World, nodes: Iterable[tuple[str, TaskNode]]) -> list[tuple[Found, TaskNode]]:
    found = [
        (Found(graph_id=graph_id, node_id=node.node_id, score=score(world, graph_id, node)), node)
        for graph_id, node in nodes
    ]

    def shunned(graph_id: str, node: TaskNode) -> bool:
        item = item_of(world, graph_id, node)
        return item is not None and bool(world.agent_id) and world.agent_id in item.released_by

    def key(each: tuple[Found, TaskNode]) -> tuple[bool, int, int, str, str]:
        found, node = each
        return shunned(found.graph_id, node), -found.score, tokens(node), found.node_id, found.graph_id

    return sorted(found, key=key)


def held_back(world: World, limit: int, graph_id: str | None = None) -> list[Found]:
    """The first `limit` nodes that only came to merge pressure before anything else."""
    scope = [(name, node) for name, node in every_node(world) if graph_id in {None, name}]
    order = _in_order(world, [each for each in scope if reasons(world, *each)[:1] == ["merge_pressure"]])
    return [found for found, _ in order[:limit]]


@dataclass(frozen=True, kw_only=True)
class Count:
    """Nodes in numbers."""

    runnable: int
    ready: int
    not_eligible: Mapping[str, int]


def count(world: World, graph_id: str | None = None) -> Count:
    """Count the nodes: each that is not eligible once, under its first reason."""
    not_eligible: dict[str, int] = {}
    runnable = ready = 0
    for name, node in every_node(world):
        if graph_id not in {None, name}:
            continue
        found, own = reasons(world, name, node), own_reasons(world, name, node)
        waiting = own[:1] in (["deferred"], ["retry_at"], ["awaiting_approval"]) and node.status in {"pending", "ready"}
        ready += not own or waiting
        runnable += not found
        if found:
            not_eligible[found[0]] = not_eligible.get(found[0], 0) + 1
    return Count(runnable=runnable, ready=ready, not_eligible=not_eligible)
