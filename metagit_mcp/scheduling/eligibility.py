"""May this node run now? The one function of scheduling.md §5: every reason against it, in a fixed order.

`intrinsic` are the reasons that lie in the node and its graph, `situational` those that depend on who asks and on
what else runs; a node is eligible exactly when both are empty. Knows neither scores nor order.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, Literal

from metagit_mcp.domain.approval import Approval, is_approved, needs_approval
from metagit_mcp.domain.graph import Structure, ancestors_heard, unmet, unmet_for_good, waits_for_dependency
from metagit_mcp.domain.policy import GatePolicy
from metagit_mcp.domain.tasks import FINISHED_STATUSES, STATUSES, TaskNode, is_parked
from metagit_mcp.domain.text import shown, shown_name
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.snapshot import Asker

ReasonKind = Literal[
    "graph_invalid",
    "graph_inactive",
    "finished",
    "not_ready",
    "blocked",
    "deferred",
    "awaiting_approval",
    "observed",
    "capability_missing",
    "never_fits",
    "merge_pressure",
    "group_quota",
    "no_slot",
]
# Reasons that leave a node with an open status "ready by status and dependencies" (interfaces.md §3, ready_count).
WAITING_THOUGH_READY: Final = frozenset({"deferred", "awaiting_approval"})


@value
class Reason:
    """Why a node may not run: a stable kind, the ids and numbers behind it, and a person's own words if any."""

    kind: ReasonKind
    detail: str = ""
    note: str = ""

    @property
    def text(self) -> str:
        """The reason as one short string, built from ids and numbers only."""
        return f"{self.kind}({self.detail})" if self.detail else self.kind


_STUCK: Final = ("cycle ", "missing dependency ", "cancelled ", "failed ", "unknown status ")


def waits_for_person(reason: Reason) -> bool:
    """Say whether only a person can end this reason: approval, a block, a broken node, a circle, a lost dependency."""
    if reason.kind in {"awaiting_approval", "blocked", "graph_invalid"}:
        return True
    return reason.kind == "not_ready" and (reason.detail.startswith(_STUCK) or _is_orphaned(reason.detail))


def _is_orphaned(detail: str) -> bool:
    """Whether the parent itself is gone for good; what a living parent waits for is told of the parent."""
    return detail.startswith("parent ") and ":" not in detail and detail.endswith((" missing", " cancelled"))


@value
class GroupRules:
    """What the reasons of one Group's nodes depend on besides the nodes."""

    active: bool
    defects: Mapping[str, str]
    shape: Structure
    gates: GatePolicy
    approvals: Mapping[str, tuple[Approval, ...]]
    now: datetime


def intrinsic(rules: GroupRules, node: TaskNode) -> Iterator[Reason]:
    """Yield the reasons that lie in the node, its graph, its approvals and the time."""
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
    if node.not_before is not None and node.not_before > rules.now:
        yield Reason(kind="deferred", detail=instant_text(node.not_before))
    if needs_approval(node, rules.gates) and not is_approved(node, rules.approvals.get(node.node_id, ())):
        yield Reason(kind="awaiting_approval")
    if node.status == "running":
        yield Reason(kind="observed")


def reason_for_person(rules: GroupRules, node: TaskNode) -> Reason | None:
    """Return the first reason of `intrinsic` that only a person can end, without going through all the others."""
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
    if needs_approval(node, rules.gates) and not is_approved(node, rules.approvals.get(node.node_id, ())):
        yield Reason(kind="awaiting_approval")


_KIND_OF_STATUS: Final[dict[str, ReasonKind]] = {"blocked": "blocked", "running": "observed"}


def first_kind(rules: GroupRules, node: TaskNode) -> ReasonKind | None:
    """Return the kind of the first reason that `intrinsic` yields; most nodes are decided without making one."""
    if rules.active and node.node_id not in rules.defects:
        if node.status in FINISHED_STATUSES:
            return "finished"
        if _has_only_dependencies(rules, node):
            return "not_ready" if waits_for_dependency(rules.shape, node) else _KIND_OF_STATUS.get(node.status)
    first = next(intrinsic(rules, node), None)
    return None if first is None else first.kind


def _has_only_dependencies(rules: GroupRules, node: TaskNode) -> bool:
    """Say that nothing else hinders the node but its status; what is on a circle then waits for a dependency too."""
    return (
        node.status in STATUSES
        and node.parent_id is None
        and node.not_before is None
        and node.risk is None
        and node.approval is None
        and node.node_id not in rules.shape.children
    )


def _handed_down(rules: GroupRules, node: TaskNode) -> Iterator[Reason]:
    for ancestor_id in ancestors_heard(rules.shape, node):
        ancestor = rules.shape.by_id.get(ancestor_id)
        if ancestor is None or ancestor.status in FINISHED_STATUSES:
            continue
        if ancestor.not_before is not None and ancestor.not_before > rules.now:
            detail = f"parent {ancestor_id} deferred until {instant_text(ancestor.not_before)}"
            yield Reason(kind="not_ready", detail=detail)
        if needs_approval(ancestor, rules.gates) and not is_approved(ancestor, rules.approvals.get(ancestor_id, ())):
            yield Reason(kind="not_ready", detail=f"parent {ancestor_id} awaiting approval")


def _blocked(node: TaskNode) -> Reason:
    note = shown(node.blocker_reason or "", limit=500)
    if is_parked(node):
        return Reason(kind="blocked", detail="failed", note=note)
    return Reason(kind="blocked", detail="" if note else "unknown, set by another tool", note=note)


def instant_text(instant: datetime) -> str:
    """Return an aware instant as RFC 3339 in UTC, to the second."""
    return instant.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def instant_or_none(text: str) -> str | None:
    """Return a time that another program wrote in the same form, or None when it is none."""
    try:
        at = datetime.fromisoformat(text)
        return instant_text(at) if at.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


@value
class Demand:
    """What a node needs from the moment, the same for all nodes of one lane of the queue."""

    repository: str
    capabilities: frozenset[str]
    slots: int


@value
class Situation:
    """The moment: limits in slots (None: no limit), slots in use, and repositories under merge pressure to skip."""

    slots: int | None
    running: int
    skipped_repositories: frozenset[str]


def situational(
    demand: Demand, situation: Situation, asker: Asker, quota: int | None, group_running: int
) -> Iterator[Reason]:
    """Yield the reasons that lie in who asks and in what else runs; `quota` and `group_running` count slots."""
    for missing in sorted(demand.capabilities - asker.capabilities):
        yield Reason(kind="capability_missing", detail=shown_name(missing))
    limit = _never_above(demand, situation, quota)
    if limit is not None:
        yield Reason(kind="never_fits", detail=f"{demand.slots} slots, limit {limit}")
    if demand.repository in situation.skipped_repositories:
        yield Reason(kind="merge_pressure", detail="skip")
    if quota is not None and group_running + demand.slots > quota:
        yield Reason(kind="group_quota", detail=f"{group_running}/{quota}")
    if situation.slots is not None and situation.running + demand.slots > situation.slots:
        yield Reason(kind="no_slot", detail=f"{situation.running}/{situation.slots}")


def _never_above(demand: Demand, situation: Situation, quota: int | None) -> int | None:
    """Return the limit that the demand can never meet, or None (scheduling.md §3 rule 7)."""
    if quota is not None and demand.slots > quota:
        return quota
    if situation.slots is None:
        return None
    # Runs seen in the files hold their slots until another program ends them: no wide node can drain those.
    reachable = situation.slots - situation.running if demand.slots > 1 else situation.slots
    return max(reachable, 0) if demand.slots > reachable else None
