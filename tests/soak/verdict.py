"""Compares what callers were told with what the ledger and the files say in the end, fact by fact.

It must not import any part of the package.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final

from tests.soak.histories import KINDS_OF, History

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.soak.account import Account, Taken
    from tests.soak.bounds import Bounds
    from tests.soak.servers import Server

Json = dict[str, Any]
# While a server is away and shortly after, callers of it may be refused.
_AROUND_S: Final = 3.0
_DECIDED_AS: Final = {
    "/v1/approve": {"approval_granted"},
    "/v1/review": {"result_accepted", "result_rejected"},
    "/v1/retry": {"work_retried"},
    "/v1/release": {"ownership_revoked"},
}


@dataclass(frozen=True)
class Fact:
    """Something that must hold, with its figure; None: only told."""

    what: str
    figure: str
    holds: bool | None = None
    more: tuple[str, ...] = ()


def double_owners(account: Account) -> list[str]:
    """Leases of one node that were certainly live at the same instant, from the answers alone."""
    of_node: defaultdict[tuple[str, str], list[Taken]] = defaultdict(list)
    for lease in account.taken.values():
        of_node[lease.node].append(lease)
    for leases in of_node.values():
        leases.sort(key=lambda each: each.told)
    return [
        f"{later.node}: {later.lease_id} of {later.agent_id} under {earlier.lease_id}"
        for leases in of_node.values()
        for earlier, later in combinations(leases, 2)
        if later.asked > earlier.told and later.told < min(earlier.until, account.ended(earlier))
    ]


def lost_claims(account: Account, history: History, decided: set[str]) -> list[str]:
    """Leases that were acknowledged and are not in the ledger as told, or whose decision is in no log."""
    lost = []
    for lease in account.taken.values():
        kept = history.started.get(lease.lease_id)
        told = (*lease.node, lease.agent_id, lease.epoch)
        if kept is None or told != tuple(kept[name] for name in ("graph_id", "node_id", "agent_id", "ownership_epoch")):
            lost.append(f"{lease.lease_id} of {told}: the ledger says {kept}")
        elif lease.decision_id and lease.decision_id not in decided:
            lost.append(f"decision {lease.decision_id} of {lease.node} is in no log")
    return lost


def lost_reports(account: Account, history: History) -> list[str]:
    """Reports that were acknowledged and are not in the ledger."""
    return [
        f"{each.state} of {each.lease_id} ({each.node}): the ledger says {sorted(history.said_of[each.lease_id])}"
        for each in account.reports
        if not history.said_of[each.lease_id] & KINDS_OF[each.state]
    ]


def lost_acts(account: Account, history: History, revisions: Sequence[str]) -> list[str]:
    """What people were told was done, and nobody knows of."""
    lost = []
    for act in account.acts:
        graph_id, _, node_id = act.key.partition("/")
        if act.kind in _DECIDED_AS and not any(
            history.about[kind][graph_id, node_id] for kind in _DECIDED_AS[act.kind]
        ):
            lost.append(f"{act.kind} {act.key}")
        if act.kind == "policy" and act.answer["changed"] and act.answer["revision"] not in revisions:
            lost.append(f"policy {act.answer['revision']}")
    lost += [
        f"{group_id}: Cursor {cursor}, the ledger says {history.cursors.get(group_id)}"
        for group_id, cursor in account.cursors.items()
        if history.cursors.get(group_id, 0) < cursor
    ]
    return lost


def wrong_files(root: Path, account: Account, history: History) -> list[str]:
    """Nodes whose row does not say that they are done, or says so wrongly, or that are not there at all."""
    wrong, rows = [], {}
    for path in sorted((root / ".metagit" / "tasks" / "graphs").glob("*.json")):
        for node in json.loads(path.read_text(encoding="utf-8"))["nodes"]:
            rows[path.stem, node["node_id"]] = node["status"]
    known = (node for node in (*history.done, *account.planned) if not node[0].startswith("group:"))
    wrong += [f"{node} has no row" for node in known if node not in rows]
    wrong += [
        f"{node} is {status}" for node, status in rows.items() if (status == "completed") != bool(history.done[node])
    ]
    return wrong


def decisions_in(root: Path) -> set[str]:
    """The ids of the decision log."""
    path = root / ".metagit" / "schedule" / "decisions.jsonl"
    return {json.loads(row)["decision_id"] for row in path.read_text(encoding="utf-8").splitlines()}


def revisions_in(root: Path) -> list[str]:
    """The revisions that the policy had, as the audit log tells."""
    rows = (root / ".metagit" / "schedule" / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    told = [json.loads(row) for row in rows]
    return [each["payload"]["revision"] for each in told if each["type"] == "PolicyChanged"]


def unexplained(account: Account, servers: Sequence[Server], cuts: Sequence[float]) -> list[str]:
    """Failures of servers that no kill explains: another code than STORE_UNAVAILABLE, or at another time."""
    away = [(server.name, begun, until) for server in servers for begun, until in server.away]
    away += [("", at, at) for at in cuts]
    found = []
    for each in account.failures:
        near = any(begun <= each.at <= until + _AROUND_S for _, begun, until in away)
        if each.code != "STORE_UNAVAILABLE" or not near:
            found.append(f"{each.what} at {each.server}: {each.status} {each.code}")
    for at, name in account.cut_at:
        # A call of ten seconds may have been under way.
        if not any(begun <= at <= until + 10 * _AROUND_S for server, begun, until in away if server == name):
            found.append(f"a line to {name} was cut although it was there")
    return found


def memory_rows(account: Account) -> Iterator[Fact]:
    """How the memory of each server moved in the second half of its longest life, while work was added all the time."""
    for name, samples in account.memory.items():
        if len(samples) < 20:
            continue
        half = samples[len(samples) // 2 :]
        part = max(1, len(half) // 10)
        first, last = (median(size for _, size in some) for some in (half[:part], half[-part:]))
        minutes = (half[-1][0] - half[0][0]) / 60
        figure = (
            f"{samples[0][1] / 2**20:.0f} MiB at first, {first / 2**20:.1f} → {last / 2**20:.1f} MiB in the last"
            f" {minutes:.1f} min"
        )
        yield Fact(f"memory of server {name}, second half", figure)


def latency_rows(account: Account) -> Iterator[Fact]:
    for what, seconds in sorted(account.seconds.items()):
        if len(seconds) < 2:
            continue
        cuts = quantiles(seconds, n=100)
        figure = " / ".join(f"{each * 1e3:.0f}" for each in (median(seconds), cuts[94], cuts[98], max(seconds)))
        yield Fact(f"{what}: p50 / p95 / p99 / max", f"{figure} ms ({len(seconds):,})")


def share_rows(bounds: Bounds) -> Iterator[Fact]:
    """What each was given of what its level got, against its weight."""
    for level, flows in bounds.guaranteed.items():
        pairs = ", ".join(
            f"{flow} {bounds.received[level][flow]} of {float(guaranteed):.0f}" for flow, guaranteed in flows.items()
        )
        yield Fact(f"units received of guaranteed, {level or 'classes'}", pairs)


def fault_fact(what: str, faults: Sequence[str], of: str) -> Fact:
    return Fact(what, f"{len(faults)} of {of}", not faults, tuple(faults[:5]))


def facts(account: Account, history: History, bounds: Bounds, root: Path) -> Iterator[Fact]:
    """All that the ledger and the files can tell."""
    starts, done = len(history.started), sum(history.done.values())
    yield fault_fact("double ownership, by the answers", double_owners(account), f"{len(account.taken):,} leases")
    yield fault_fact(
        "double ownership, epochs, double completion, by the ledger",
        history.faults,
        f"{starts:,} starts, {done:,} done",
    )
    yield fault_fact(
        "acknowledged claims lost", lost_claims(account, history, decisions_in(root)), f"{len(account.taken):,}"
    )
    yield fault_fact("acknowledged reports lost", lost_reports(account, history), f"{len(account.reports):,}")
    acts = lost_acts(account, history, revisions_in(root))
    yield fault_fact("acknowledged acts of people and deliveries lost", acts, f"{len(account.acts):,}")
    yield fault_fact("rows of files that differ from the ledger", wrong_files(root, account, history), f"{done:,} done")
    yield fault_fact("starts not charged as the policy says", bounds.faults, f"{starts:,}")
    for name, (value, what) in sorted(bounds.worst.items()):
        yield Fact(f"{name}: the largest value over its bound", f"{float(value):.3f} ({what})", value <= 1)
    stretches = f"{bounds.picks:,} in {bounds.stretches} stretches of one policy, at most {bounds.longest} long"
    stretches += f"; slots were kept {bounds.holds} times"
    yield Fact("picks that were compared with the bounds", stretches, bounds.picks > 0)
