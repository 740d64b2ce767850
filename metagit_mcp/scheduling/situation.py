"""What stands against a start besides the node itself: who asks, what else runs, which limits there are (§5).

The reasons follow those of eligibility.py, in the fixed order of scheduling.md §5. Each says apart from its detail what
of it may be told within one Group: nothing that another Group holds, nor how much of anything is in use (ADR 0032).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Final, Protocol

from metagit_mcp.domain.instant import instant_text
from metagit_mcp.domain.shares import Hold
from metagit_mcp.domain.text import shown_id, shown_name
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import NodeKey, Pause, ResourceClosure
from metagit_mcp.scheduling.capabilities import agent_capability, meets
from metagit_mcp.scheduling.demand import Demand, Units, with_own
from metagit_mcp.scheduling.eligibility import Reason, ReasonKind
from metagit_mcp.scheduling.holdings import Holdings
from metagit_mcp.scheduling.snapshot import Asker

_NAMED: Final = 3
_PAUSE_ORDER: Final = ("workspace", "group", "agent", "resource")


@value
class Situation:
    """The moment: limits in slots (None: no limit), slots in use, and what else is in the way of a start.

    `running` counts leases and runs seen in the files, `observed` only the latter. `pauses` and `closures` are those
    in force; `units` are what each lease of the asker takes besides what its node uses.
    """

    slots: int | None
    running: int
    skipped_repositories: frozenset[str]
    observed: int = 0
    pauses: Sequence[Pause] = ()
    closures: Mapping[str, ResourceClosure] = field(default_factory=dict)
    capacities: Mapping[str, int] = field(default_factory=dict)
    holdings: Holdings = field(default_factory=Holdings)
    units: Units = ()
    hold: Hold | None = None


@value
class AgentSlots:
    """How many leases the asker holds, and how many it may."""

    held: int
    limit: int

    @property
    def is_full(self) -> bool:
        """Whether the asker may not hold one more."""
        return self.held >= self.limit


def in_force(pauses: Iterable[Pause], now: datetime) -> list[Pause]:
    """Return the pauses that are not over, in the order in which they are told."""
    left = [pause for pause in pauses if pause.until is None or pause.until > now]
    return sorted(left, key=lambda pause: (_PAUSE_ORDER.index(pause.scope), pause.name))


def passing(
    demand: Demand,
    situation: Situation,
    group: "InUse",
    agent_slots: AgentSlots | None,
    kept_for: NodeKey | None,
    *,
    is_stopped: bool,
) -> Iterator[Reason]:
    """Yield the reasons that lie in slots alone, after those of `lasting`.

    `kept_for` is the node for which the slots are kept that would be free; `is_stopped`: the Group's quota is kept for
    its best node.
    """
    quota, running = group.quota, group.running_slots
    if quota is not None and (is_stopped or running + demand.slots > quota):
        yield Reason(kind="group_quota", detail=f"{running}/{quota}")
    if agent_slots is not None and agent_slots.is_full:
        held = f"{agent_slots.held}/{agent_slots.limit}"
        yield Reason(kind="agent_slots", detail=held, bare=f"limit {agent_slots.limit}")
    if kept_for is not None:
        yield Reason(kind="reserved", detail=f"for {shown_id(kept_for[1])}", bare=_unless_own(kept_for, group.graph_id))
    if situation.slots is not None and situation.running + demand.slots > situation.slots:
        detail = f"{situation.running}/{situation.slots}"
        yield Reason(kind="no_slot", detail=detail, bare=f"limit {situation.slots}")


def _unless_own(holder: NodeKey, graph_id: str, bare: str = "") -> str | None:
    """Return what may be told of who is in the way, if it is of another Group."""
    return None if holder[0] == graph_id else bare


class InUse(Protocol):
    """A Group with its quota and the slots that it uses."""

    @property
    def graph_id(self) -> str:
        """Its id."""

    @property
    def quota(self) -> int | None:
        """The most slots it may use; None for no limit."""

    @property
    def running_slots(self) -> int:
        """The slots it uses."""


def lasting(demand: Demand, situation: Situation, asker: Asker, quota: int | None, graph_id: str) -> Iterator[Reason]:
    """Yield the reasons that lie in who asks and in what else runs, but for the slots that are in use."""
    if demand.offered_to and not any(meets(asker, agent_capability(name)) for name in demand.offered_to):
        yield Reason(kind="not_offered", detail=f"but to {', '.join(map(shown_name, demand.offered_to[:_NAMED]))}")
    if demand.owner is not None and demand.owner != asker.agent_id:
        yield Reason(kind="owned", detail=f"by {shown_name(demand.owner)}")
    for pause in situation.pauses:
        if _is_meant(pause, demand, situation, asker, graph_id):
            yield _paused(pause)
    if demand.exhausted:
        yield Reason(kind="budget_exhausted")
    for missing in sorted(name for name in demand.capabilities - asker.capabilities if not meets(asker, name)):
        yield Reason(kind="capability_missing", detail=shown_name(missing))
    if demand.is_contended or situation.units:
        yield from _contended(demand, situation, graph_id)
    limit = _never_above(demand, situation, quota)
    if limit is not None:
        detail = f"{demand.slots} slots, limit {limit}"
        yield Reason(kind="never_fits", detail=detail, bare=_bare_limit(demand, situation, quota))
    if demand.repository in situation.skipped_repositories:
        yield Reason(kind="merge_pressure", detail="skip")


def first_against(
    demand: Demand, situation: Situation, asker: Asker, quota: int | None, graph_id: str
) -> ReasonKind | None:
    """Return the kind of the first reason that `lasting` yields; of nearly all lanes it is known at once to be none."""
    is_bare = not (demand.offered_to or demand.exhausted or demand.capabilities or demand.is_contended)
    is_open = not (situation.pauses or situation.units or situation.skipped_repositories)
    if is_bare and is_open and demand.owner is None and _never_above(demand, situation, quota) is None:
        return None
    found = next(lasting(demand, situation, asker, quota, graph_id), None)
    return None if found is None else found.kind


def _is_meant(pause: Pause, demand: Demand, situation: Situation, asker: Asker, graph_id: str) -> bool:
    if pause.scope == "workspace":
        return True
    if pause.scope == "resource":
        return pause.name in _resources(demand, situation)
    return pause.name == (graph_id if pause.scope == "group" else asker.agent_id)


def _resources(demand: Demand, situation: Situation) -> list[str]:
    """Return the resources that a start would take; an exclusive key is one of capacity 1."""
    return sorted({name for name, _ in with_own(demand.uses, situation.units)} | set(demand.exclusive))


def _paused(pause: Pause) -> Reason:
    name = "" if pause.scope == "workspace" else f" {shown_name(pause.name)}"
    until = "" if pause.until is None else f", until {instant_text(pause.until)}"
    return Reason(kind="paused", detail=f"{pause.scope}{name}, by {shown_name(pause.by)}{until}")


def _contended(demand: Demand, situation: Situation, graph_id: str) -> Iterator[Reason]:
    """Yield what leases hold and what is closed, of all that a start would take."""
    holdings = situation.holdings
    for key in demand.exclusive:
        holder = holdings.holder(key)
        if holder is not None:
            detail = f"{shown_name(key)}, held by {shown_id(holder[1])}"
            yield Reason(kind="exclusive", detail=detail, bare=_unless_own(holder, graph_id, shown_name(key)))
    for holder, scope in holdings.collisions(demand):
        detail = f"{shown_id(holder[1])}, {shown_name(scope or '.')}"
        yield Reason(kind="conflicts_with", detail=detail, bare=_unless_own(holder, graph_id))
    for name, held, capacity in holdings.busy(with_own(demand.uses, situation.units), situation.capacities):
        told = shown_name(name)
        yield Reason(kind="resource_busy", detail=f"{told}, {held}/{capacity}", bare=f"{told}, capacity {capacity}")
    for name in _resources(demand, situation):
        closure = situation.closures.get(name)
        if closure is not None:
            detail = f"{shown_name(name)}, until {instant_text(closure.until)}"
            # Whose agent was turned away, and until when, may be another Group's.
            yield Reason(kind="resource_closed", detail=detail, bare=shown_name(name))


def _bare_limit(demand: Demand, situation: Situation, quota: int | None) -> str:
    """Return what may be told of the limit: figures of the policy, not what runs of other programs leave of them."""
    figures = [each for each in (quota, situation.slots) if each is not None and demand.slots > each]
    return f"{demand.slots} slots" + "".join(f", limit {each}" for each in figures[:1])


def _never_above(demand: Demand, situation: Situation, quota: int | None) -> int | None:
    """Return the limit that the demand can never meet, or None (scheduling.md §3 rule 7)."""
    if quota is not None and demand.slots > quota:
        return quota
    if situation.slots is None:
        return None
    # Runs seen in the files hold their slots until another program ends them: no wide node can drain those.
    reachable = situation.slots - situation.observed if demand.slots > 1 else situation.slots
    return max(reachable, 0) if demand.slots > reachable else None
