"""When a node of a Group, or the Group itself, may start, as its Coordinator may be told (work.md §7).

Of all other Groups it takes what policy assumes in their place (assumed.py): nothing told here depends on them. Exact
numbers, but for the confidence.
"""

from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Final

from metagit_mcp.domain.feeds import CapacityStatus
from metagit_mcp.domain.instant import later
from metagit_mcp.domain.policy import SchedulePolicy, micros
from metagit_mcp.domain.tasks import FINISHED_STATUSES, TaskNode, effective_slots
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.assumed import Assumed, Effort
from metagit_mcp.scheduling.demand import demand_of
from metagit_mcp.scheduling.eligibility import reason_for_person
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.scoring import URGENCY
from metagit_mcp.scheduling.ways import Course, Unknown, Way, Ways, parents_of

STEP: Final = 300


@value
class StartWindow:
    """The first and the last instant at which it is expected to start."""

    earliest: datetime
    latest: datetime


@value
class ScheduleEstimate:
    """What a Coordinator is told of its Group or node; `unknown` says why there is no window."""

    capacity_status: CapacityStatus
    confidence: float
    last_calculated_at: datetime
    estimated_start: StartWindow | None = None
    estimated_completion: datetime | None = None
    unknown: Unknown | None = None


@value
class Record:
    """How often what was told of the Group's work came true, and how often it did not."""

    kept: int = 0
    missed: int = 0


def rounded_up(seconds: int) -> int:
    """Return the next power of two × 5 minutes, at least 5 minutes."""
    return STEP << (-(-max(seconds, 1) // STEP) - 1).bit_length()


def rounded_down(seconds: int) -> int:
    """Return the last power of two × 5 minutes, or 0 below 5 minutes."""
    steps = seconds // STEP
    return STEP << (steps.bit_length() - 1) if steps > 0 else 0


def confidence_of(record: Record) -> float:
    """Return the share that came true, as if one more had and one more had not: 0.5 without any."""
    return float(round(Fraction(record.kept + 1, record.kept + record.missed + 2), 2))


@value
class _Told:
    """Seconds from now on; `end` may be known where `start` has been."""

    status: CapacityStatus
    start: tuple[int, int] | None = None
    end: int | None = None
    unknown: Unknown | None = None
    began: datetime | None = None


class Forecast:
    """What can be told of one Group at one instant; asked for several nodes it works out once what they share."""

    def __init__(
        self,
        group: GroupQueue,
        policy: SchedulePolicy,
        now: datetime,
        record: Record | None = None,
        *,
        paused: bool = False,
    ) -> None:
        """Take the Group as the queue has it; `paused`: nothing of it may start until somebody resumes it."""
        self._group, self._policy, self._now, self._paused = group, policy, now, paused
        self._confidence = confidence_of(record or Record())
        self._by_id = group.rules.shape.by_id
        self._running = {node.node_id for node in group.running}
        self._assumed = Assumed(policy, group.graph_id, self._by_id.values())
        self._ways = Ways(group.rules, self._course)
        rules = policy.preemption
        self._pauses = rules.max_preemptions if rules.enabled else 0
        self._has_quota = group.quota is not None and (policy.slots is None or group.quota < policy.slots)

    # --- what is asked

    def node(self, node_id: str) -> ScheduleEstimate:
        """Estimate the start of a node, which must be there (KeyError), and when it is done."""
        node = self._by_id[node_id]
        if node.status in FINISHED_STATUSES:
            return self._shown(_Told(status="available", unknown="finished"))
        if node_id in self._running:
            lease = self._group.rules.leases.get(node_id)
            began = self._now if lease is None else lease.granted_at
            return self._shown(_Told(status="available", began=began, end=self._left(node)))
        way, is_ready = self._ways.to(node), node_id in self._group.lanes.place_of
        if way.unknown in _BLOCKED:
            return self._shown(_Told(status="blocked", unknown=way.unknown))
        ahead = self._ahead(node, is_ready=is_ready)
        status = self._status(ahead, is_held=not is_ready or self._is_full([node]))
        if way.unknown is not None:
            return self._shown(_Told(status=status, unknown=way.unknown))
        latest = way.deferred + self._waits(ahead, way) + way.runs
        end = latest + self._assumed.runtime(node)
        return self._shown(_Told(status=status, start=(way.soonest, latest), end=end))

    def whole(self) -> ScheduleEstimate:
        """Estimate the next start of the Group, and when all that is open is done."""
        if self._group.loaded.graph is None:
            return self._shown(_Told(status="blocked", unknown="needs_person"))
        unfinished = [node for node in self._by_id.values() if node.status not in FINISHED_STATUSES]
        if not unfinished:
            return self._shown(_Told(status="available", unknown="finished"))
        past = [self._ways.past(node) for node in unfinished]
        unknown = next((way.unknown for way in past if way.unknown), None)
        end = None
        if unknown is None:
            last, work = _joined(past), self._all_waiting
            end = last.deferred + last.runs + (self._waits(work, last) if work.starts else 0)
        return self._shown(self._next(end, unknown))

    def _next(self, end: int | None, unknown: Unknown | None) -> _Told:
        """Tell of the next start: of what is ready, or else of whatever becomes ready."""
        able = [node for node in self._waiting if self._ways.to(node).unknown is None]
        if not able:
            return _Told(status=self._status_without(unknown), end=end, unknown=unknown)
        ready = [node for node in able if node.node_id in self._group.lanes.place_of]
        # Whatever starts first does not start after this one, for which nothing else need start.
        first = min(ready or able, key=self._first)
        way = self._ways.to(first)
        latest = way.deferred + way.runs + self._waits(Effort(wide=int(effective_slots(first) > 1)), way)
        # Whoever is asked to make room starts again.
        is_back = bool(self._running and self._pauses)
        soonest = 0 if is_back else min(self._ways.to(node).soonest for node in ready or able)
        status = self._status(Effort(starts=len(self._running)), is_held=not ready or self._is_full(ready))
        return _Told(status=status, start=(soonest, latest), end=end, unknown=unknown)

    def _status_without(self, unknown: Unknown | None) -> CapacityStatus:
        """Return the status where nothing more is to start, or nobody can tell when."""
        if unknown is None:
            return "constrained"
        return "blocked" if unknown in _BLOCKED else "available"

    def _first(self, node: TaskNode) -> tuple[int, int, int]:
        way = self._ways.to(node)
        return way.steps, way.deferred + way.runs, effective_slots(node)

    def _shown(self, told: _Told) -> ScheduleEstimate:
        start = None if told.began is None else StartWindow(earliest=told.began, latest=told.began)
        if told.start is not None:
            soonest, latest = told.start
            start = StartWindow(
                earliest=later(self._now, rounded_down(soonest)), latest=later(self._now, rounded_up(latest))
            )
        return ScheduleEstimate(
            capacity_status=told.status,
            confidence=self._confidence,
            last_calculated_at=self._now,
            estimated_start=start,
            estimated_completion=None if told.end is None else later(self._now, rounded_up(told.end)),
            unknown=told.unknown,
        )

    def _status(self, ahead: Effort, *, is_held: bool) -> CapacityStatus:
        if is_held:
            return "constrained"
        return "queued" if ahead.starts else "available"

    # --- a node by itself

    def _course(self, node: TaskNode) -> Course:
        runs = node.node_id in self._running
        return Course(
            unknown=None if runs else self._unknown(node),
            deferred=0 if runs else self._deferred(node),
            most=self._left(node) if runs else self._assumed.runtime(node),
            least=self._at_least(node),
            runs=runs,
        )

    def _unknown(self, node: TaskNode) -> Unknown | None:
        rules, policy = self._group.rules, self._policy
        each = [node] if node.parent_id is None else [node, *parents_of(rules, node)]
        if not rules.active or any(reason_for_person(rules, one) is not None for one in each):
            return "needs_person"
        if any(self._is_with_group(one) for one in each):
            return "with_group"
        limits = [limit for limit in (policy.slots, self._group.quota) if limit is not None]
        if any(effective_slots(node) > limit for limit in limits):
            return "never_fits"
        if self._paused:
            return "paused"
        if policy.ordering != "fair":
            return "no_shares"
        return "no_slot_limit" if policy.slots is None else None

    def _is_with_group(self, node: TaskNode) -> bool:
        """Say whether the node waits for what its Group's own log is to tell, and nobody here can start it."""
        item = self._group.rules.items.get(node.node_id)
        if item is None or item.fed is None or item.state in {"queued", "active"}:
            return False
        if item.state != "open" or item.fed.state not in {"offered", "queued"}:
            return True
        until = item.fed.until if item.fed.offer is None else item.fed.offer.until
        return until is not None and until <= self._now

    def _deferred(self, node: TaskNode) -> int:
        """Return the seconds until its time has come, and that of its parents."""
        item = self._group.rules.items.get(node.node_id)
        times = [node.not_before, None if item is None else item.retry_at]
        times += [parent.not_before for parent in parents_of(self._group.rules, node)]
        return max([0, *(-int((self._now - at).total_seconds() // 1) for at in times if at is not None)])

    def _left(self, node: TaskNode) -> int:
        """Return the most seconds that a running node still takes."""
        return max(0, self._assumed.runtime(node) - self._since(node))

    def _at_least(self, node: TaskNode) -> int:
        """Return the least seconds that a node still takes: as it says, unless somebody worked on it before."""
        item = self._group.rules.items.get(node.node_id)
        is_known = item is not None and bool(item.preemptions or item.checkpoint or item.attempts)
        is_seen = node.node_id in self._running and node.node_id not in self._group.rules.leases
        return 0 if is_known or is_seen else max(0, (node.estimated_runtime_seconds or 0) - self._since(node))

    def _since(self, node: TaskNode) -> int:
        lease = self._group.rules.leases.get(node.node_id)
        return 0 if lease is None else int((self._now - lease.granted_at).total_seconds())

    def _is_full(self, nodes: Sequence[TaskNode]) -> bool:
        """Say whether the Group's own running nodes leave no room for any of these."""
        limits = [limit for limit in (self._policy.slots, self._group.quota) if limit is not None]
        slots = min((effective_slots(node) for node in nodes), default=0)
        return bool(slots) and any(self._group.running_slots + slots > limit for limit in limits)

    # --- the latest

    def _waits(self, ahead: Effort, way: Way) -> int:
        """Return the most seconds for which the Group waits for its turns, so much being ahead on such a way."""
        work = ahead + self._paused_again(ahead)
        times = 1 + way.steps * (1 + self._pauses) + (self._pauses if way.has_run else 0)
        own = self._assumed.longest * (work.starts + 1) if self._has_quota else 0
        # At its quota it takes no part, and comes anew each time that one of its own has ended.
        return self._assumed.wait(work, times + (work.starts if self._has_quota else 0)) + own

    def _paused_again(self, ahead: Effort) -> Effort:
        """Return what work is added where it is asked to make room: running nodes come back, each costs a unit more."""
        if not self._pauses or not (ahead.starts or self._running):
            return Effort(starts=len(self._running) if self._has_quota else 0)
        back = self._assumed.effort(self._by_id[name] for name in self._running)
        more = self._pauses * (ahead.starts + back.starts)
        return back + Effort(starts=more, units=more, wide=self._pauses * (ahead.wide + back.wide))

    @cached_property
    def _dependents(self) -> dict[str, list[str]]:
        """Return who names each node that is depended on, as often as it does."""
        found: dict[str, list[str]] = {}
        for name, node in self._by_id.items():
            for need in node.depends_on:
                found.setdefault(need, []).append(name)
        return found

    def _behind(self, node_id: str) -> set[str]:
        """Return the node with all that depend on it, also through others."""
        behind, walk = {node_id}, [node_id]
        while walk:
            found = [name for name in self._dependents.get(walk.pop(), ()) if name not in behind]
            behind.update(found)
            walk += found
        return behind

    @cached_property
    def _waiting(self) -> list[TaskNode]:
        """Return all that is unfinished and does not run."""
        return [
            node
            for name, node in self._by_id.items()
            if node.status not in FINISHED_STATUSES and name not in self._running
        ]

    @cached_property
    def _all_waiting(self) -> Effort:
        return self._assumed.effort(self._waiting)

    def _ahead(self, node: TaskNode, *, is_ready: bool) -> Effort:
        """Return what the Group may start before a node that nothing else holds back."""
        behind = self._behind(node.node_id)
        after = [self._by_id[name] for name in behind if name not in self._running]
        every = self._all_waiting - self._assumed.effort(each for each in after if each.status not in FINISHED_STATUSES)
        if is_ready and self._is_plain(node):
            return self._guarded(self._first_of(node, behind), every)
        return every + Effort(wide=int(effective_slots(node) > 1))

    def _is_plain(self, node: TaskNode) -> bool:
        """Say whether any agent may take the node as soon as a slot is free, so that its order counts."""
        demand = demand_of(node, self._group.rules.items.get(node.node_id))
        named = demand.capabilities or demand.owner or demand.shunned_by or demand.offered_to
        return not (demand.is_contended or demand.slots > 1 or named)

    def _first_of(self, node: TaskNode, behind: set[str]) -> Effort:
        """Return those that may be picked first, whatever plans and worktrees do to their scores meanwhile."""
        weights, policy = self._group.weights, self._policy
        apart = weights.affinity + weights.fairness + micros(policy.merge_pressure_penalty)
        swing = weights.dependency + weights.cost
        least = node.priority * weights.priority + URGENCY[node.requested_urgency] * weights.urgency - swing
        return self._assumed.effort(
            each
            for each in self._waiting
            if each.priority * weights.priority
            + URGENCY[each.requested_urgency] * weights.urgency
            + (weights.deadline if each.deadline is not None else 0)
            + (apart if (each.repository, each.project) != (node.repository, node.project) else 0)
            >= least
            and each.node_id not in behind
        )

    def _guarded(self, first: Effort, every: Effort) -> Effort:
        """Return what comes first, with what the guard may let come before that: one after so many others."""
        limit = self._policy.pass_over_limit
        more = min(every.starts - first.starts, first.starts // limit + 1) if limit else 0
        if not more:
            return first
        return Effort(
            starts=first.starts + more,
            units=min(every.units, first.units + more * self._assumed.most_cost),
            wide=min(every.wide, first.wide + more),
            more=every.more,
        )


_BLOCKED: Final = frozenset({"needs_person", "with_group", "never_fits", "paused"})


def _joined(ways: Sequence[Way]) -> Way:
    """Return the longest of several ways to the end of nodes, as one to the start of the last."""
    return Way(
        steps=max([0, *(way.steps - 1 for way in ways)]),
        runs=max(way.runs for way in ways),
        has_run=any(way.has_run for way in ways),
        deferred=max(way.deferred for way in ways),
    )
