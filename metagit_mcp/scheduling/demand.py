"""What a node needs from the moment, the same for all nodes of one lane. Knows neither leases nor who asks."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from metagit_mcp.domain.repository import repository_key
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import WorkItem, owner_of

# Name and units of each resource, by name.
Units = tuple[tuple[str, int], ...]
_GLOB: Final = re.compile(r"[*?\[{]")


@value
class Demand:
    """What a node needs from the moment, the same for all nodes of one lane of the queue.

    `touches` are the fixed beginnings of its globs; `owner` is the agent that owns the queued node, `shunned_by` who
    gave it back and gets it only when nothing else is left; `exhausted`: nothing is left of its budget. `offered_to`
    are the only agents that may accept it; empty: anybody may.
    """

    repository: str
    capabilities: frozenset[str]
    slots: int
    uses: Units = ()
    exclusive: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    owner: str | None = None
    shunned_by: tuple[str, ...] = ()
    exhausted: bool = False
    offered_to: tuple[str, ...] = ()

    @property
    def is_contended(self) -> bool:
        """Whether leases of others can stand in the way, besides their slots."""
        return bool(self.uses or self.exclusive or self.touches)


_NOBODY: Final = (None, (), ())
# What decides a demand, as the node and the ledger spell it: the arguments of `demand_spelt`.
Spelling = tuple[str | None, str | None, tuple[str, ...] | None, int | None, "_Contended | None", "_Agents", bool]


def spelling_of(node: TaskNode, item: WorkItem | None = None, *, exhausted: bool = False) -> Spelling:
    """Return what decides the node's demand; equal spellings have equal demands."""
    contended = None
    if node.uses or node.exclusive or node.touches:
        contended = (_units(node.uses), node.exclusive, node.touches)
    agents = _NOBODY if item is None else (owner_of(item), item.released_by, offered_to(item))
    return (node.repository, node.project, node.capabilities, node.slots, contended, agents, exhausted)


def asked_of_agents(spelling: Spelling) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the capabilities that such a node requires, and the only agents to whom it is offered."""
    _, _, capabilities, _, _, (_, _, candidates), _ = spelling
    return capabilities, candidates


def demand_of(node: TaskNode, item: WorkItem | None = None, *, exhausted: bool = False) -> Demand:
    """Return what the node needs from the moment, as the ledger knows it."""
    return demand_spelt(*spelling_of(node, item, exhausted=exhausted))


def offered_to(item: WorkItem | None) -> tuple[str, ...]:
    """Return the only agents to whom a Group offers its work, in order; empty: there is no such offer."""
    fed = None if item is None or item.state != "open" else item.fed
    return () if fed is None or fed.offer is None else tuple(sorted(set(fed.offer.candidates)))


def _units(uses: Mapping[str, int] | None) -> Units:
    """Return what is used, by name; nothing is used by less than one unit."""
    return tuple(sorted((name, units) for name, units in (uses or {}).items() if units > 0))


_Contended = tuple[Units, tuple[str, ...] | None, tuple[str, ...] | None]
# Who owns it, who gave it back, and to whom alone it is offered.
_Agents = tuple[str | None, tuple[str, ...], tuple[str, ...]]


@lru_cache(maxsize=65_536)
def demand_spelt(
    repository: str | None,
    project: str | None,
    capabilities: tuple[str, ...] | None,
    slots: int | None,
    contended: _Contended | None,
    agents: _Agents,
    exhausted: bool,  # noqa: FBT001 - a part of the key of the cache, like the others
) -> Demand:
    """Return the demand that is spelt so."""
    uses, exclusive, touches = contended or ((), None, None)
    return Demand(
        repository=repository_key(repository, project),
        capabilities=frozenset(capabilities or ()),
        slots=slots or 1,
        uses=uses,
        exclusive=tuple(sorted(set(exclusive or ()))),
        touches=scopes_of(touches or ()),
        owner=agents[0],
        shunned_by=agents[1],
        exhausted=exhausted,
        offered_to=agents[2],
    )


@lru_cache(maxsize=65_536)
def scopes_of(globs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fixed beginnings of globs, those before the first glob character, in order.

    A whole path ends in a slash, so that `src/a` does not hold `src/ab`; the empty one is the whole repository.
    """
    return tuple(sorted(set(map(_scope_of, globs))))


def _scope_of(glob: str) -> str:
    path = glob.replace("\\", "/")
    found = _GLOB.search(path)
    *folders, last = (path[: found.start()] if found else f"{path}/").split("/")
    return "".join(f"{folder}/" for folder in folders if folder not in {"", "."}) + last


def first_collision(scopes: tuple[str, ...], others: tuple[str, ...]) -> str | None:
    """Return the first of the scopes that holds one of the others or lies in it, or None."""
    return next(
        (one for one in scopes if any(one.startswith(other) or other.startswith(one) for other in others)), None
    )


def with_own(uses: Units, own: Units) -> Units:
    """Return the units that a start needs: the node's and the agent's, added up."""
    if not own:
        return uses
    together = dict(uses)
    for name, units in own:
        together[name] = together.get(name, 0) + units
    return tuple(sorted(together.items()))
