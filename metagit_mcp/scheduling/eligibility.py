"""May this node run now? The first half of scheduling.md §5: every reason in the node and its graph, in a fixed order.

The other half, what depends on who asks and on what else runs, is situation.py; a node is eligible exactly when both
are empty (`cycle.reasons_against`). Knows neither scores nor order.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Final, Literal

from metagit_mcp.domain.approval import Approval, is_approved, is_gated, needed_epoch, needs_approval
from metagit_mcp.domain.feeds import FedItem
from metagit_mcp.domain.graph import Structure, ancestors_heard, unmet, unmet_for_good, waits_for_dependency
from metagit_mcp.domain.instant import instant_text, later
from metagit_mcp.domain.policy import SchedulePolicy, budget_for
from metagit_mcp.domain.projection import row_instant
from metagit_mcp.domain.tasks import FINISHED_STATUSES, STATUSES, TaskNode, is_parked
from metagit_mcp.domain.text import shown, shown_name
from metagit_mcp.domain.value import changed, value
from metagit_mcp.domain.work import ExecutionLease, Usage, WorkItem, is_exhausted

ReasonKind = Literal[
    "graph_invalid",
    "graph_inactive",
    "finished",
    "not_ready",
    "blocked",
    "deferred",
    "retry_at",
    "awaiting_approval",
    "leased",
    "observed",
    "awaiting_review",
    "not_offered",
    "owned",
    "paused",
    "budget_exhausted",
    "capability_missing",
    "exclusive",
    "conflicts_with",
    "resource_busy",
    "resource_closed",
    "never_fits",
    "merge_pressure",
    "group_quota",
    "agent_slots",
    "reserved",
    "no_slot",
]
# Reasons that leave a node with an open status "ready by status and dependencies" (interfaces.md §3, ready_count).
WAITING_THOUGH_READY: Final = frozenset({"deferred", "retry_at", "awaiting_approval"})


@value
class Reason:
    """Why a node may not run: a stable kind, the ids and numbers behind it, and a person's own words if any.

    `bare` stands in place of the detail where nothing of other Groups may be told; None: the detail tells nothing.
    """

    kind: ReasonKind
    detail: str = ""
    note: str = ""
    bare: str | None = None

    @property
    def text(self) -> str:
        """The reason as one short string, built from ids and numbers only."""
        return f"{self.kind}({self.detail})" if self.detail else self.kind


def within_group(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Return reasons as they may be told to whoever asks about the node's Group alone (ADR 0032).

    Nobody who is in the way is named or counted that is of another Group: of several such, one is left.
    """
    bare = (each if each.bare is None else replace(each, detail=each.bare, bare=None) for each in reasons)
    return tuple(dict.fromkeys(bare))


# What the Group decides by its own log.
IN_ITS_GROUP: Final = "in its Group"
_FOR_PERSON: Final = frozenset({"awaiting_approval", "awaiting_review", "blocked", "budget_exhausted", "graph_invalid"})
_STUCK: Final = ("cycle ", "missing dependency ", "cancelled ", "failed ", "unknown status ")


def waits_for_person(reason: Reason) -> bool:
    """Say whether only a person can end this reason: approval, review, a block, a lost run, a broken node, a circle."""
    if reason.kind in _FOR_PERSON:
        return True
    if reason.kind == "observed":
        return reason.detail.endswith("overdue")
    return reason.kind == "not_ready" and (reason.detail.startswith(_STUCK) or _is_orphaned(reason.detail))


def _is_orphaned(detail: str) -> bool:
    """Whether the parent itself is gone for good; what a living parent waits for is told of the parent."""
    return detail.startswith("parent ") and ":" not in detail and detail.endswith((" missing", " cancelled"))


@value
class GroupRules:
    """What the reasons of one Group's nodes depend on besides the nodes: `items` and live `leases` by node."""

    graph_id: str
    active: bool
    defects: Mapping[str, str]
    shape: Structure
    policy: SchedulePolicy
    approvals: Mapping[str, tuple[Approval, ...]]
    now: datetime
    items: Mapping[str, WorkItem] = field(default_factory=dict)
    leases: Mapping[str, ExecutionLease] = field(default_factory=dict)


def intrinsic(rules: GroupRules, node: TaskNode) -> Iterator[Reason]:
    """Yield the reasons that lie in the node, its graph, its approvals, its work so far and the time."""
    if node.node_id in rules.defects:
        yield Reason(kind="graph_invalid", detail=rules.defects[node.node_id])
    if not rules.active:
        yield Reason(kind="graph_inactive")
    if node.status in FINISHED_STATUSES:
        yield Reason(kind="finished", detail=node.status)
        return
    for detail in unmet(rules.shape, node):
        yield Reason(kind="not_ready", detail=detail)
    yield from _handed_down(rules, node)
    if node.status == "blocked":
        yield _blocked(node)
    yield from _too_early(rules, node)
    approval = _approval(rules, node)
    if approval is not None:
        yield approval
    if node.status == "running":
        yield _running(rules, node)
    closed = _not_offered(rules, node)
    if closed is not None:
        yield closed
    if is_exhausted_node(rules, node):
        yield Reason(kind="budget_exhausted")


def _too_early(rules: GroupRules, node: TaskNode) -> Iterator[Reason]:
    if node.not_before is not None and node.not_before > rules.now:
        yield Reason(kind="deferred", detail=instant_text(node.not_before))
    item = rules.items.get(node.node_id)
    if item is not None and item.retry_at is not None and item.retry_at > rules.now:
        yield Reason(kind="retry_at", detail=instant_text(item.retry_at))


def _approval(rules: GroupRules, node: TaskNode) -> Reason | None:
    """Return the reason where an approval lacks: that of a person here, or the one that the Group's log tells of."""
    item = rules.items.get(node.node_id)
    fed = None if item is None else item.fed
    if fed is None:
        return Reason(kind="awaiting_approval") if _awaits_approval(rules, node) else None
    until = fed.approved_until
    if node.approval == "human_required" and (until is None or until <= rules.now):
        return Reason(kind="awaiting_approval", detail=IN_ITS_GROUP)
    # No copy of a node that no gate is for, as nearly all are.
    is_shut = is_gated(node, rules.policy.gates) and _awaits_approval(rules, changed(node, approval=None))
    return Reason(kind="awaiting_approval") if is_shut else None


def _awaits_approval(rules: GroupRules, node: TaskNode) -> bool:
    if not needs_approval(node, rules.policy.gates):
        return False
    epoch = needed_epoch(rules.items.get(node.node_id))
    return not is_approved(node, rules.approvals.get(node.node_id, ()), epoch)


def _not_offered(rules: GroupRules, node: TaskNode) -> Reason | None:
    """Return why nobody may accept or start work of a Group's log, where that is so."""
    item = rules.items.get(node.node_id)
    fed = None if item is None or item.state not in {"open", "queued"} else item.fed
    if item is None or fed is None or fed.state not in {"open", "offered", "queued"}:
        return None
    if item.state == "queued" and item.owner != fed.owner:
        # Its agent has asked for it.
        return None
    if fed.state == "open":
        return Reason(kind="not_offered")
    until = fed.until if fed.offer is None else fed.offer.until
    if until is None or until > rules.now:
        return None
    what = "ownership" if fed.offer is None else "offer"
    return Reason(kind="not_offered", detail=f"{what} ended {instant_text(until)}")


def _running(rules: GroupRules, node: TaskNode) -> Reason:
    """Return why a node that runs may not be started: under a lease, done up to a review, or seen in the file."""
    lease = rules.leases.get(node.node_id)
    if lease is not None:
        detail = f"by {shown_name(lease.agent_id)}, until {instant_text(lease.expiry.at)}"
        return Reason(kind="leased", detail=detail)
    item = rules.items.get(node.node_id)
    if item is not None and item.fed is not None:
        return _running_in_its_group(item, item.fed)
    if item is not None and item.state == "submitted":
        return Reason(kind="awaiting_review")
    until = observed_until(rules, node)
    if until is None:
        return Reason(kind="observed")
    if until > rules.now:
        return Reason(kind="observed", detail=f"until {instant_text(until)}")
    since = row_instant(node.updated_at)
    return Reason(kind="observed", detail=f"since {instant_text(since or until)}, overdue")


def _running_in_its_group(item: WorkItem, fed: FedItem) -> Reason:
    """Return why work may not be started that its Group's log has as under way, or as done up to a judgement."""
    if "submitted" in {item.state, fed.state}:
        return Reason(kind="awaiting_review", detail=IN_ITS_GROUP)
    until = "" if fed.lease_until is None else f", until {instant_text(fed.lease_until)}"
    return Reason(kind="leased", detail=f"by {shown_name(fed.owner or '')}{until}")


def is_observed(rules: GroupRules, node: TaskNode) -> bool:
    """Say whether the node runs without a lease of ours and takes slots: another program of this workspace started it.

    What a Group's log has as under way without a lease of ours runs elsewhere.
    """
    if node.status != "running" or node.node_id in rules.leases:
        return False
    item = rules.items.get(node.node_id)
    return item is None or (item.state != "submitted" and item.fed is None)


def observed_until(rules: GroupRules, node: TaskNode) -> datetime | None:
    """Return until when a run seen in the file holds its slots; None where the file does not say since when it runs."""
    since = row_instant(node.updated_at)
    return None if since is None else later(since, rules.policy.leases.observed_seconds)


def is_exhausted_node(rules: GroupRules, node: TaskNode) -> bool:
    """Say whether nothing is left of some figure of the node's budget, by our own count or by its Group's."""
    item = rules.items.get(node.node_id)
    left = None if item is None or item.fed is None else item.fed.left
    if left and 0 in left.values():
        return True
    budget = budget_for(rules.policy, rules.graph_id, node.budget)
    if not budget:
        return False
    return is_exhausted(budget, Usage() if item is None else item.spent)


def reason_for_person(rules: GroupRules, node: TaskNode) -> Reason | None:
    """Return the first reason of `intrinsic` that only a person here can end, without going through all the others.

    Of a Group's own work that is an approval which policy asks for; for the rest its Coordinator is there.
    """
    item = rules.items.get(node.node_id)
    if item is not None and item.fed is not None:
        approval = None if node.status in FINISHED_STATUSES else _approval(rules, node)
        return None if approval is None or approval.detail else approval
    return next(filter(waits_for_person, _hard_reasons(rules, node)), None)


def _hard_reasons(rules: GroupRules, node: TaskNode) -> Iterator[Reason]:
    """Yield of `intrinsic`, in its order, all that may need a person."""
    if node.node_id in rules.defects:
        yield Reason(kind="graph_invalid", detail=rules.defects[node.node_id])
    if node.status in FINISHED_STATUSES:
        return
    for detail in unmet_for_good(rules.shape, node):
        yield Reason(kind="not_ready", detail=detail)
    if node.status == "blocked":
        yield _blocked(node)
    if _awaits_approval(rules, node):
        yield Reason(kind="awaiting_approval")
    if node.status == "running":
        yield _running(rules, node)
    if is_exhausted_node(rules, node):
        yield Reason(kind="budget_exhausted")


def first_kind(rules: GroupRules, node: TaskNode) -> ReasonKind | None:
    """Return the kind of the first reason that `intrinsic` yields; most nodes are decided without making one.

    An exhausted budget is left out: what depends on the asker comes before it (`Demand.exhausted`).
    """
    if rules.active and node.node_id not in rules.defects:
        if node.status in FINISHED_STATUSES:
            return "finished"
        item = rules.items.get(node.node_id)
        if item is not None and item.fed is not None:
            return _first_in_its_group(rules, node)
        if _has_only_dependencies(rules, node, item):
            return _first_of_plain(rules, node, item)
    first = next(intrinsic(rules, node), None)
    return None if first is None or first.kind == "budget_exhausted" else first.kind


def _first_in_its_group(rules: GroupRules, node: TaskNode) -> ReasonKind | None:
    """Return the same of work of a Group's log, which has no parents, and is not tried again by itself."""
    if waits_for_dependency(rules.shape, node):
        return "not_ready"
    if node.status == "blocked":
        return "blocked"
    found = _approval(rules, node)
    if found is None:
        found = _running(rules, node) if node.status == "running" else _not_offered(rules, node)
    return None if found is None else found.kind


def _has_only_dependencies(rules: GroupRules, node: TaskNode, item: WorkItem | None) -> bool:
    """Say that nothing else hinders the node but its status; what is on a circle then waits for a dependency too."""
    return (
        node.status in _KNOWN
        and node.parent_id is None
        and node.not_before is None
        and node.risk is None
        and node.approval is None
        and (item is None or item.retry_at is None or item.retry_at <= rules.now)
        and node.node_id not in rules.shape.children
    )


def _first_of_plain(rules: GroupRules, node: TaskNode, item: WorkItem | None) -> ReasonKind | None:
    """Return the same where nothing hinders the node but its dependencies and its status."""
    if waits_for_dependency(rules.shape, node):
        return "not_ready"
    if node.status == "running":
        if node.node_id in rules.leases:
            return "leased"
        return "awaiting_review" if item is not None and item.state == "submitted" else "observed"
    return "blocked" if node.status == "blocked" else None


_KNOWN: Final = frozenset(STATUSES)


def _handed_down(rules: GroupRules, node: TaskNode) -> Iterator[Reason]:
    for ancestor_id in ancestors_heard(rules.shape, node):
        ancestor = rules.shape.by_id.get(ancestor_id)
        if ancestor is None or ancestor.status in FINISHED_STATUSES:
            continue
        if ancestor.not_before is not None and ancestor.not_before > rules.now:
            detail = f"parent {ancestor_id} deferred until {instant_text(ancestor.not_before)}"
            yield Reason(kind="not_ready", detail=detail)
        if _awaits_approval(rules, ancestor):
            yield Reason(kind="not_ready", detail=f"parent {ancestor_id} awaiting approval")


def _blocked(node: TaskNode) -> Reason:
    note = shown(node.blocker_reason or "", limit=500)
    if is_parked(node):
        return Reason(kind="blocked", detail="failed", note=note)
    return Reason(kind="blocked", detail="" if note else "unknown, set by another tool", note=note)


def instant_or_none(text: str) -> str | None:
    """Return a time that another program wrote in the same form, or None when it is none."""
    try:
        at = datetime.fromisoformat(text)
        return instant_text(at) if at.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
