"""What a start needs and what stands in its way, read plainly: resources, keys, write scopes, pauses, budgets.

It must not share code with the core: it uses the domain's dataclasses as records and none of their functions.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tests.oracle_world import World, item_of, place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metagit_mcp.domain.limits import AgentPolicy
    from metagit_mcp.domain.tasks import TaskNode


def agents_like(world: World) -> list[AgentPolicy]:
    named = world.policy.agents.items()
    return [agent for pattern, agent in named if world.agent_id and fnmatchcase(world.agent_id, pattern)]


def units(world: World, node: TaskNode) -> dict[str, int]:
    """What a start takes of each resource: the node's units and the most that a pattern says of the agent."""
    own: dict[str, int] = {}
    for agent in agents_like(world):
        for name, number in agent.uses.items():
            own[name] = max(own.get(name, 0), number)
    used = {name: number for name, number in (node.uses or {}).items() if number > 0}
    every = {name: used.get(name, 0) + own.get(name, 0) for name in used.keys() | own.keys()}
    return {name: number for name, number in every.items() if number}


def paused(world: World, graph_id: str, node: TaskNode) -> int:
    names = {
        "workspace": None,
        "group": {graph_id},
        "agent": {world.agent_id},
        "resource": {*units(world, node), *(node.exclusive or ())},
    }
    live = [each for each in world.pauses if each.until is None or each.until > world.now]
    return sum(1 for each in live if names[each.scope] is None or each.name in (names[each.scope] or ()))


def spent(world: World, graph_id: str, node: TaskNode) -> bool:
    group = world.policy.groups.get(graph_id)
    budget: Mapping[str, int] | None = node.budget
    if budget is None and group is not None and group.budget is not None:
        budget = {str(name): most for name, most in group.budget.items()}
    item = item_of(world, graph_id, node)
    names = ("tokens", "tool_calls", "seconds", "cost_micros")
    used = {name: 0 if item is None else getattr(item.spent, name) for name in names}
    return any(used[name] >= (budget or {})[name] for name in names if name in (budget or {}))


def fixed_parts(glob: str) -> tuple[list[str], str]:
    """The folders before the first glob character, and the beginning of a name there; a whole path has none."""
    text, cut = glob.replace("\\", "/"), len(glob)
    for mark in "*?[{":
        cut = min(cut, text.find(mark) if mark in text else cut)
    parts = text[:cut].split("/")
    name = parts.pop() if cut < len(text) else ""
    return [part for part in parts if part not in {"", "."}], name


def holds_other(one: str, other: str) -> bool:
    """Whether all that one glob can name may be below the fixed part of the other."""
    (folders, name), (deeper, deeper_name) = fixed_parts(other), fixed_parts(one)
    if deeper[: len(folders)] != folders:
        return False
    if not name:
        return True
    return deeper[len(folders)].startswith(name) if len(deeper) > len(folders) else deeper_name.startswith(name)


def collide(globs: Sequence[str], others: Sequence[str]) -> bool:
    return any(holds_other(one, other) or holds_other(other, one) for one in globs for other in others)


def contended(world: World, node: TaskNode) -> list[str]:
    found: list[str] = []
    for key in set(node.exclusive or ()):
        found += ["exclusive"] * any(key in each.holding.exclusive for each in world.leases)
    for each in world.leases:
        same = each.holding.repository == place(node)
        found += ["conflicts_with"] * (same and collide(node.touches or (), each.holding.touches))
    for name, number in units(world, node).items():
        limit = world.policy.resources.get(name)
        held = sum(each.holding.uses.get(name, 0) for each in world.leases)
        found += ["resource_busy"] * (limit is not None and held + number > limit.capacity)
    wanted = {*units(world, node), *(node.exclusive or ())}
    return found + ["resource_closed" for each in world.closures if each.resource in wanted and each.until > world.now]
