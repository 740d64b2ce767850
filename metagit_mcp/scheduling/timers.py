"""The instants at which time alone changes whether nodes may run, or how they are ordered. Decides neither."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from metagit_mcp.domain.feeds import FedItem
from metagit_mcp.domain.tasks import FINISHED_STATUSES, TaskNode
from metagit_mcp.scheduling.eligibility import GroupRules, is_observed, observed_until
from metagit_mcp.scheduling.scoring import due_from


def timers(rules: GroupRules, nodes: Iterable[TaskNode]) -> Iterator[datetime]:
    """Yield the instants for these nodes of a Group; past ones may be among them."""
    horizon, items = rules.policy.deadline_horizon_seconds, rules.items
    for node in nodes:
        if node.status in FINISHED_STATUSES:
            continue
        if node.not_before is not None:
            yield node.not_before
        if node.deadline is not None and (due := due_from(node, horizon)) is not None:
            yield due
        if node.status == "running":
            until = observed_until(rules, node) if is_observed(rules, node) else None
            if until is not None:
                yield until
        item = items.get(node.node_id)
        if item is not None:
            if item.retry_at is not None:
                yield item.retry_at
            if item.fed is not None:
                yield from _ends(item.fed)


def _ends(fed: FedItem) -> list[datetime]:
    """Return when an offer, an ownership or an approval of the Group's log ends."""
    ends = (None if fed.offer is None else fed.offer.until, fed.until, fed.approved_until)
    return [until for until in ends if until is not None]
