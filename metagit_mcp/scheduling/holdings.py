"""What all live leases hold together: slots, units of resources, exclusive keys, write scopes. Knows no node's need."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import ExecutionLease, Holding, NodeKey, WorkItem
from metagit_mcp.scheduling.demand import Demand, Units, first_collision, scopes_of


class Changed:
    """What leases hold in another way than before: units held of each resource until then, keys, scopes."""

    __slots__ = ("keys", "scopes", "units")

    def __init__(self) -> None:
        """Note nothing yet."""
        self.units: dict[str, int] = {}
        self.keys: set[str] = set()
        self.scopes: set[tuple[str, str]] = set()

    def __bool__(self) -> bool:
        """Say whether anything was noted."""
        return bool(self.units or self.keys or self.scopes)

    def note(self, holding: Holding, units: Mapping[str, int]) -> None:
        """Note all that a lease holds which begins or ends; `units` are those held until then."""
        for name in holding.uses:
            self.units.setdefault(name, units.get(name, 0))
        self.keys.update(holding.exclusive)
        self.scopes.update((holding.repository, scope) for scope in scopes_of(holding.touches))


class Holdings:
    """The sum of all live leases; it follows them one by one."""

    __slots__ = ("_keys", "_leases", "_scopes", "by_agent", "slots", "units")

    def __init__(self, leases: Iterable[ExecutionLease] = ()) -> None:
        """Take over the live leases."""
        self.slots = 0
        self.units: Counter[str] = Counter()
        self.by_agent: Counter[str] = Counter()
        self._leases: dict[NodeKey, ExecutionLease] = {}
        self._keys: dict[str, set[NodeKey]] = {}
        self._scopes: dict[str, dict[NodeKey, tuple[str, ...]]] = {}
        for lease in leases:
            self.put(lease.key, lease)

    def put(self, key: NodeKey, lease: ExecutionLease | None, changed: Changed | None = None) -> None:
        """Take over which lease the node has now, and note what is held in another way than before."""
        before = self._leases.pop(key, None)
        if lease is not None:
            self._leases[key] = lease
        is_same = before is not None and lease is not None and before.holding == lease.holding
        for each, sign in ((before, -1), (lease, 1)):
            if each is not None:
                if changed is not None and not is_same:
                    changed.note(each.holding, self.units)
                self._add(each, sign)

    def _add(self, lease: ExecutionLease, sign: int) -> None:
        holding = lease.holding
        self.slots += sign * holding.slots
        self.by_agent[lease.agent_id] += sign
        if not self.by_agent[lease.agent_id]:
            del self.by_agent[lease.agent_id]
        for name, units in holding.uses.items():
            self.units[name] += sign * units
        for key in holding.exclusive:
            (self._keys.setdefault(key, set()).add if sign > 0 else self._keys[key].discard)(lease.key)
        if holding.touches:
            scopes = self._scopes.setdefault(holding.repository, {})
            if sign > 0:
                scopes[lease.key] = scopes_of(holding.touches)
            else:
                del scopes[lease.key]

    def holder(self, key: str) -> NodeKey | None:
        """Return the node that holds an exclusive key: the first one, if policy or files let it be several."""
        return min(self._keys.get(key, ()), default=None)

    def collisions(self, demand: Demand) -> Iterator[tuple[NodeKey, str]]:
        """Yield the nodes whose write scopes collide with the demand's, in order, with the demand's scope."""
        for key, scopes in sorted(self._scopes.get(demand.repository, {}).items()) if demand.touches else ():
            found = first_collision(demand.touches, scopes)
            if found is not None:
                yield key, found

    def busy(self, needed: Units, capacities: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
        """Yield name, units held and capacity of each resource that has too few units left.

        A resource that policy does not name has no limit: what is used of it is only counted.
        """
        for name, units in needed:
            capacity = capacities.get(name)
            if capacity is not None and self.units[name] + units > capacity:
                yield name, self.units[name], capacity


def live_leases(items: Mapping[str, WorkItem], work: LedgerState) -> dict[str, ExecutionLease]:
    """Return the live leases of nodes, by node."""
    found = {node_id: live_lease(item, work) for node_id, item in items.items() if item.lease_id is not None}
    return {node_id: lease for node_id, lease in found.items() if lease is not None}


def live_lease(item: WorkItem | None, work: LedgerState) -> ExecutionLease | None:
    """Return the live lease of a node, if it has one."""
    return None if item is None or item.lease_id is None else work.leases.get(item.lease_id)
