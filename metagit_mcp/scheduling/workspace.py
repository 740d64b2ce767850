"""All Groups' queues and what each asker's moment made of them, kept in step with files and ledger. Makes no plan.

A cycle after a change costs the changed nodes or Groups, and one without a change only its picks.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from metagit_mcp.domain.policy import slots_of_agent, uses_of_agent
from metagit_mcp.domain.shares import Hold
from metagit_mcp.domain.state import LedgerState, pause_key
from metagit_mcp.domain.value import changed
from metagit_mcp.domain.work import NodeKey, Pause, ResourceClosure
from metagit_mcp.scheduling.capabilities import meets_all
from metagit_mcp.scheduling.demand import Units
from metagit_mcp.scheduling.fairness import FairOrder
from metagit_mcp.scheduling.holdings import Changed, Holdings, live_lease
from metagit_mcp.scheduling.holds import Holds, holds_of
from metagit_mcp.scheduling.moment import Moment
from metagit_mcp.scheduling.needs import Needing
from metagit_mcp.scheduling.policy_change import policy_change
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.quiet import Quiet, quiet_between
from metagit_mcp.scheduling.situation import AgentSlots, Situation, in_force
from metagit_mcp.scheduling.snapshot import Asker, Snapshot
from metagit_mcp.scheduling.terms import cold_from, repository_terms

# Askers that bring the same and may use the same worktrees see the same moment, so few are ever needed at a time.
_MOMENTS_KEPT: Final = 64
_AGENTS_KEPT: Final = 1024
_PLANS_KEPT: Final = 64


class WorkspaceQueue:
    """All Groups' queues and the moments of the askers seen since the last change of the whole."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Build every Group's queue."""
        self.snapshot = snapshot
        self.now = snapshot.now
        self.groups: dict[str, GroupQueue] = {}
        self.holdings = Holdings(snapshot.work.leases.values())
        self._pauses: dict[str, Pause] = dict(snapshot.work.pauses)
        self._closures: dict[str, ResourceClosure] = dict(snapshot.work.closures)
        self._moments: dict[tuple[str, tuple[tuple[str, ...], ...], Units], Moment] = {}
        # Whose turn it is, by pool; one whose moment is no longer kept is made anew.
        self._orders: dict[tuple[tuple[str, ...], ...], FairOrder] = {}
        # What was found by trying starts out, by its question: the same until something changes.
        self.plans: dict[tuple[object, ...], Any] = {}
        self._own_units: dict[str, Units] = {}
        self._named: set[str] = set()
        # The capability sets that unfinished nodes name, each sorted, in order: they make the pools.
        self.capability_sets: tuple[tuple[str, ...], ...] = ()
        self._observed = 0
        # The Groups with runs of other programs that the ledger does not know, or that are over.
        self.unsettled_in: set[str] = set()
        self._is_fair = False
        self._holds: dict[str, Holds] = {}
        self._needing = Needing()
        # The time in which time alone changes nothing.
        self.quiet = Quiet()
        self._rebuild(set(snapshot.graphs))

    # --- files, policy, time

    def go_on(self, now: datetime) -> None:
        """Go on to another instant; while time alone changes nothing, nothing is looked at."""
        if self.quiet.holds_at(now):
            self.now = now
        else:
            self.refresh(replace(self.snapshot, now=now))

    def refresh(self, snapshot: Snapshot) -> None:
        """Take over another snapshot; only Groups that it, the policy or the time changed are built again.

        What happened to the same ledger state is taken over by `follow`; another state is compared node by node.
        """
        before, self.snapshot = self.snapshot, snapshot
        self.now = snapshot.now
        self.plans.clear()
        is_quiet = self.quiet.holds_at(snapshot.now)
        outdated = set(self._outdated(before, is_quiet=is_quiet))
        change = policy_change(before.policy, snapshot.policy, self.groups)
        if before.policy is not snapshot.policy:
            self._own_units.clear()
        if before.work is not snapshot.work:
            self._take_over(snapshot.work)
        if change.is_whole or before.work is not snapshot.work or not is_quiet:
            self._moments.clear()
            self._orders.clear()
        is_seen_anew = before.surroundings is not snapshot.surroundings
        if outdated or change.judged or not is_quiet:
            self._rebuild(outdated | change.judged)
        elif is_seen_anew:
            self.quiet = quiet_between(self._timers(), self.now)
        self._weigh(change.weighed | change.shared)
        for moment in self._moments.values():
            moment.adopt(snapshot.policy)
        for order in self._orders.values() if before.policy is not snapshot.policy else ():
            order.adopt(snapshot.policy)
        if is_seen_anew or change.weighed:
            self._learn_terms()

    def _learn_terms(self) -> None:
        """Let the moments take over other terms of repositories."""
        for moment in self._moments.values():
            moment.learn(repository_terms(moment.asker, self.snapshot, self.groups.values()))

    def _weigh(self, graph_ids: Collection[str]) -> None:
        """Take over weights, shares and quotas of the policy."""
        for graph_id in sorted(graph_ids):
            group = self.groups.get(graph_id)
            if group is not None:
                group.weigh(self.snapshot.policy)
                for moment in self._moments.values():
                    moment.mark(graph_id, range(len(group.lanes)), is_judged=False)
        if graph_ids:
            self._is_fair = any(group.weights.fairness for group in self.groups.values())

    def _outdated(self, before: Snapshot, *, is_quiet: bool) -> Iterator[str]:
        """Yield the Groups that came, went or changed, by their files, their approvals, their work or the time."""
        now, graphs, work = self.snapshot.now, self.snapshot.graphs, self.snapshot.work
        if before.graphs is not graphs:
            yield from self.groups.keys() - graphs.keys()
            yield from (graph_id for graph_id, loaded in graphs.items() if before.graphs.get(graph_id) is not loaded)
        old, new = before.approvals, self.snapshot.approvals
        if old is not new:
            named = (old.keys() | new.keys()) & graphs.keys()
            yield from (graph_id for graph_id in named if old.get(graph_id) != new.get(graph_id))
        if before.work is not work:
            yield from (graph_id for graph_id, group in self.groups.items() if group.is_behind(work))
        if not is_quiet:
            yield from (graph_id for graph_id, group in self.groups.items() if not group.quiet.holds_at(now))

    def _take_over(self, work: LedgerState) -> None:
        self.holdings = Holdings(work.leases.values())
        self._pauses, self._closures = dict(work.pauses), dict(work.closures)
        for graph_id in self.groups.keys() | work.shares.runs.keys() | self.unsettled_in:
            self._note_seen(graph_id)

    def _rebuild(self, graph_ids: set[str]) -> None:
        fair = self._fair_repositories(graph_ids)
        for graph_id in sorted(graph_ids):
            self._holds.pop(graph_id, None)
            before = self.groups.pop(graph_id, None)
            self._observed -= before.observed_slots if before is not None else 0
            loaded = self.snapshot.graphs.get(graph_id)
            if loaded is not None:
                approvals = self.snapshot.approvals.get(graph_id, ())
                made = GroupQueue(loaded, self.snapshot.policy, approvals, self.now, self.snapshot.work)
                self.groups[graph_id] = made
                self._observed += made.observed_slots
                self._needing.put(graph_id, made.lanes.needs)
            self._note_seen(graph_id)
        self._is_fair = any(group.weights.fairness for group in self.groups.values())
        self._named = _named_in(self.groups.values())
        self.capability_sets = _sets_in(self.groups.values())
        for moment in self._moments.values():
            moment.forget(graph_ids)
        if fair != self._fair_repositories(graph_ids):
            self._learn_terms()
        self._meet()
        self.quiet = quiet_between(self._timers(), self.now)

    def _note_seen(self, graph_id: str) -> None:
        group, charged = self.groups.get(graph_id), self.snapshot.work.shares.runs.get(graph_id, {})
        seen = group.seen if group is not None else {}
        (self.unsettled_in.add if seen.keys() != charged.keys() else self.unsettled_in.discard)(graph_id)

    @property
    def running_slots(self) -> int:
        """The slots of all that runs."""
        return self.holdings.slots + self._observed

    def _fair_repositories(self, graph_ids: Iterable[str]) -> set[str] | None:
        """Return the repositories with ready nodes in these Groups, where fairness asks who is under-represented."""
        if not self._is_fair:
            return None
        return {name for each in graph_ids if each in self.groups for name in self.groups[each].repositories}

    @property
    def hold(self) -> Hold | None:
        """The hold as it works now: one for which nobody pauses any more, and too few did, waits as any other."""
        shares, slots = self.snapshot.work.shares, self.snapshot.policy.slots
        hold = shares.hold
        if hold is None or not hold.preempts or shares.preemptions:
            return hold
        is_short = slots is not None and slots - self.running_slots < hold.slots
        return replace(hold, preempts=False) if is_short else hold

    def _meet(self) -> None:
        """Tell the moments how many slots are in use."""
        running, hold = self.running_slots, self.hold
        if any(moment.situation.observed != self._observed for moment in self._moments.values()):
            # What a run without a lease holds, no wide node can drain.
            self._moments.clear()
        for moment in self._moments.values():
            moment.meet(running, hold)

    def _timers(self) -> Iterator[datetime]:
        for group in self.groups.values():
            yield from group.quiet.bounds()
        yield from (pause.until for pause in self._pauses.values() if pause.until is not None)
        yield from (closure.until for closure in self._closures.values())
        for tree in self.snapshot.surroundings.worktrees:
            end = cold_from(tree, self.snapshot.policy.affinity.max_age_seconds)
            if end is not None:
                yield end

    # --- the ledger

    def follow(self, work: LedgerState, touched: Collection[NodeKey], charged: Iterable[str] = ()) -> None:
        """Take over what happened: `touched` are all nodes whose item, lease or approvals may be other than before.

        Pauses and closures are compared. The state may be another one than the last, such as a branch of it, as long
        as `touched` names every node in which the two differ; `charged` names Groups of whose runs it knows others.
        """
        self.plans.clear()
        if self.snapshot.work is not work or self.snapshot.now != self.now:
            self.snapshot = changed(self.snapshot, work=work, now=self.now)
        if self._pauses != work.pauses or self._closures != work.closures:
            self._pauses, self._closures = dict(work.pauses), dict(work.closures)
            self._moments.clear()
            self.quiet = quiet_between(self._timers(), self.now)
        news = Changed()
        by_graph: dict[str, list[str]] = {}
        for key in touched:
            self.holdings.put(key, live_lease(work.item(key), work), news)
            if key[0] in self.groups:
                by_graph.setdefault(key[0], []).append(key[1])
            else:
                self._note_seen(key[0])
        for graph_id in charged:
            self._note_seen(graph_id)
            for moment in self._moments.values():
                moment.mark(graph_id, is_judged=True)
        fair = self._fair_repositories(by_graph)
        outdated = {graph_id for graph_id, node_ids in by_graph.items() if not self._follow(graph_id, node_ids)}
        if outdated:
            self._rebuild(outdated)
        if fair != self._fair_repositories(by_graph):
            self._learn_terms()
        self._meet()
        self._contend(news)

    def _follow(self, graph_id: str, node_ids: list[str]) -> bool:
        """Let one Group follow, and the moments look at the lanes that changed; False: it is to be built anew."""
        group = self.groups[graph_id]
        observed, quiet, named = group.observed_slots, group.quiet, set(group.lanes.named)
        sets = set(group.capability_sets)
        needs = len(group.lanes.needs.names)
        places = group.follow(self.snapshot.work, node_ids, self.now)
        if places is None:
            return False
        if needs != len(group.lanes.needs.names):
            self._needing.put(graph_id, group.lanes.needs)
        self._holds.pop(graph_id, None)
        self._observed += group.observed_slots - observed
        self._note_seen(graph_id)
        for moment in self._moments.values():
            moment.mark(graph_id, places, is_judged=True)
        if group.quiet is not quiet:
            self.quiet = quiet_between([*self.quiet.bounds(), *group.quiet.bounds()], self.now)
        if named != group.lanes.named.keys():
            self._named = _named_in(self.groups.values())
        if sets != group.capability_sets.keys():
            self.capability_sets = _sets_in(self.groups.values())
        return True

    def _contend(self, news: Changed) -> None:
        """Let the moments look again at the lanes that feel what leases hold in another way now."""
        for key, moment in list(self._moments.items()) if news else ():
            if moment.is_overtaken():
                del self._moments[key]
                continue
            situation = moment.situation
            seen = (news, self.holdings, situation.capacities, situation.units)
            for graph_id in set(self._needing.that_feel(*seen)) & self.groups.keys():
                felt = set(self.groups[graph_id].lanes.needs.that_feel(*seen))
                if felt:
                    moment.mark(graph_id, felt, is_judged=False)

    # --- what is kept

    def keep(self, question: tuple[object, ...], found: object) -> None:
        """Keep what was found by trying starts out, until something changes."""
        if len(self.plans) >= _PLANS_KEPT:
            self.plans.clear()
        self.plans[question] = found

    def holds(self, graph_id: str) -> Holds:
        """Return the Group's nodes that wait, for a person or for something else; kept until the Group changes."""
        found = self._holds.get(graph_id)
        if found is None:
            found = self._holds[graph_id] = holds_of(self.groups[graph_id].rules)
        return found

    def agent_slots(self, asker: Asker) -> AgentSlots:
        """Return how many leases the asker holds, and how many it may."""
        limit = slots_of_agent(self.snapshot.policy, asker.agent_id)
        return AgentSlots(held=self.holdings.by_agent.get(asker.agent_id, 0), limit=limit)

    def units_of(self, agent_id: str) -> Units:
        """Return what each lease of the agent takes besides what its node uses."""
        found = self._own_units.get(agent_id)
        if found is None:
            if len(self._own_units) >= _AGENTS_KEPT:
                self._own_units.clear()
            uses = uses_of_agent(self.snapshot.policy, agent_id)
            found = self._own_units[agent_id] = tuple(sorted((name, n) for name, n in uses.items() if n > 0))
        return found

    def moment(self, asker: Asker) -> Moment:
        """Return what this asker sees, kept until something changes the whole of it.

        Only who owns or gave back something, is paused or has worktrees of its own is told apart by its id.
        """
        agent_id, units = asker.agent_id, self.units_of(asker.agent_id)
        is_paused = bool(self._pauses) and pause_key("agent", agent_id) in self._pauses
        if not (is_paused or agent_id in self._named or self.snapshot.policy.affinity.scope == "agent"):
            agent_id = ""
        return self._kept_moment(agent_id, self.satisfied_by(asker), units)

    def satisfied_by(self, asker: Asker) -> tuple[tuple[str, ...], ...]:
        """Return the capability sets that the asker brings, of those that nodes name: they say in which pool it is."""
        every = self.capability_sets
        return tuple([names for names in every if meets_all(asker, names)]) if every else ()

    def order(self, asker: Asker) -> FairOrder:
        """Return whose turn it is in the asker's pool."""
        satisfied = self.satisfied_by(asker)
        moment = self._kept_moment("", satisfied, ())
        found = self._orders.get(satisfied)
        if found is None or found.moment is not moment or not found.follow(self.snapshot.work):
            found = self._orders[satisfied] = FairOrder(satisfied, moment, self.snapshot.policy, self.snapshot.work)
        return found

    def saved_orders(self) -> Callable[[], None]:
        """Return what brings the orders of all pools back: what is only tried out may make others."""
        kept = dict(self._orders)

        def restore() -> None:
            # One that was made anew meanwhile took note of changes that the former has not heard of.
            now = self._orders
            self._orders = {name: order for name, order in kept.items() if now.get(name) is order}

        return restore

    def is_named(self, agent_id: str) -> bool:
        """Say whether an agent owns nodes that wait, or gave some back."""
        return agent_id in self._named

    def owned_in(self, agent_id: str) -> list[str]:
        """Return the Groups in which an agent owns nodes that wait, or gave some back."""
        if not self.is_named(agent_id):
            return []
        return sorted(graph_id for graph_id, group in self.groups.items() if agent_id in group.lanes.named)

    def _kept_moment(self, agent_id: str, satisfied: tuple[tuple[str, ...], ...], units: Units) -> Moment:
        key = (agent_id, satisfied, units)
        found = self._moments.get(key)
        if found is None:
            if len(self._moments) >= _MOMENTS_KEPT:
                gone = self._moments.pop(next(iter(self._moments)))
                self._orders = {name: order for name, order in self._orders.items() if order.moment is not gone}
            capabilities = frozenset(name for names in satisfied for name in names)
            found = self._moments[key] = self._moment(Asker(agent_id=agent_id, capabilities=capabilities), units)
        return found

    def _moment(self, asker: Asker, units: Units) -> Moment:
        policy = self.snapshot.policy
        terms = repository_terms(asker, self.snapshot, self.groups.values())
        situation = Situation(
            slots=policy.slots,
            running=self.running_slots,
            observed=self._observed,
            skipped_repositories=frozenset(
                key for key, each in terms.items() if each.pressured and policy.skip_on_merge_pressure
            ),
            pauses=in_force(self._pauses.values(), self.now),
            closures={name: each for name, each in self._closures.items() if each.until > self.now},
            capacities={name: each.capacity for name, each in policy.resources.items()},
            holdings=self.holdings,
            units=units,
            hold=self.hold,
        )
        return Moment(asker, situation, terms, policy, self.groups)


def _named_in(groups: Iterable[GroupQueue]) -> set[str]:
    """Return the agents that own a node which nobody else may have, or gave one back."""
    return {name for group in groups for name in group.lanes.named}


def _sets_in(groups: Iterable[GroupQueue]) -> tuple[tuple[str, ...], ...]:
    """Return the capability sets that unfinished nodes name."""
    named = {names for group in groups for names in group.capability_sets}
    return tuple(sorted(tuple(sorted(names)) for names in named))
