"""Draws what a ledger may know of a workspace: items in every state, leases, pauses, closures, approvals.

It builds the state directly, so that odd combinations meet; it must not decide what follows from them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from metagit_mcp.domain.approval import Approval, approval_digest
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.state import LedgerState, pause_key
from metagit_mcp.domain.work import (
    Attempt,
    Checkpoint,
    ExecutionLease,
    Holding,
    NodeKey,
    Pause,
    ResourceClosure,
    Result,
    Usage,
    WorkItem,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metagit_mcp.domain.tasks import LoadedGraph, TaskNode

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
WORKERS = ("w1", "w2", "team-x")
RESOURCES = ("api", "db", "disk")
KEYS = ("deploy", "main")
GLOBS = ("src/**", "src/a*", "src/a", "src/ab/x.py", "./docs/", "**", "[a-z]/*", "docs\\x.md")
STATES = ("open", "queued", "active", "blocked", "submitted", "parked", "completed", "cancelled")
WRITTEN = ("", "", "yesterday", "2026-11-29T11:00:00", *(f"2026-11-{day:02}T12:00:00+00:00" for day in (27, 28, 29)))


@cache
def moments() -> st.SearchStrategy[datetime]:
    return st.sampled_from((-90_000, -3_600, -1, 0, 1, 3_600, 86_400)).map(lambda each: NOW + timedelta(seconds=each))


USES: tuple[dict[str, int], ...] = (
    {},
    {"api": 1},
    {"api": 2, "db": 1},
    {"db": 2},
    {"disk": 1, "api": 0},
    {"disk": 2, "db": -1},
)
EXCLUSIVE = ((), ("deploy",), ("main", "deploy", "main"))
TOUCHES = ((), *((each,) for each in GLOBS), ("src/ab/**", "docs/"), ("web/x", "src/a*"))


@cache
def holdings(repositories: tuple[str, ...]) -> st.SearchStrategy[Holding]:
    return st.builds(
        Holding,
        slots=st.sampled_from((1, 1, 1, 2, 3)),
        repository=st.sampled_from((*repositories, "")),
        uses=st.sampled_from(USES),
        exclusive=st.sampled_from(EXCLUSIVE),
        touches=st.sampled_from(TOUCHES),
    )


@st.composite
def items(draw: st.DrawFn, key: NodeKey) -> WorkItem:
    """One node in any state, with what may be left of its past."""
    state: Any = draw(st.sampled_from(STATES))
    # The owner of blocked work may have waited too long; what is done keeps the name of its last owner.
    owned = state in {"queued", "active", "submitted", "completed"} or (state == "blocked" and draw(st.booleans()))
    point = Checkpoint(checkpoint_id="cp", at=NOW, lease_id="L-0", note="half done")
    return WorkItem(
        graph_id=key[0],
        node_id=key[1],
        state=state,
        changed_at=draw(moments()),
        ownership_epoch=draw(st.integers(0, 2)),
        owner=draw(st.sampled_from(WORKERS)) if owned else None,
        note=draw(st.sampled_from(("", "no disk"))) if state in {"blocked", "parked"} else "",
        retry_at=draw(st.one_of(st.none(), moments())) if state in {"open", "blocked"} else None,
        released_by=draw(st.sampled_from(((), (), ("w1",), ("w2",)))),
        attempts=draw(st.sampled_from(((), (Attempt(agent_id="w1", at=NOW, outcome="failed", note="no"),)))),
        checkpoint=draw(st.sampled_from((None, point))),
        result=draw(st.sampled_from((None, Result(summary="all done")))),
        spent=Usage(tokens=draw(st.sampled_from((0, 50, 100)))),
    )


def put(state: LedgerState, item: WorkItem, lease: ExecutionLease | None) -> None:
    """Let the state know the item, and its lease if it is active."""
    before = state.item(item.key)
    if before is not None and before.lease_id is not None:
        state.leases.pop(before.lease_id, None)
    state.items.setdefault(item.graph_id, {})[item.node_id] = item
    if lease is not None:
        state.leases[lease.lease_id] = lease


@st.composite
def worked_on(draw: st.DrawFn, state: LedgerState, key: NodeKey, repositories: tuple[str, ...]) -> None:
    """Let one node be in another state."""
    item: WorkItem = draw(items(key))
    lease = None
    if item.state == "active" and draw(st.sampled_from((True, True, True, False))):
        lease = ExecutionLease(
            lease_id=f"L-{key[0]}-{key[1]}",
            graph_id=key[0],
            node_id=key[1],
            agent_id=item.owner or "",
            session_epoch=1,
            ownership_epoch=item.ownership_epoch,
            granted_at=NOW,
            expiry=Expiry(at=draw(moments())),
            term_seconds=900,
            holding=draw(holdings(repositories)),
        )
    put(state, _with_lease(item, lease), lease)


def _with_lease(item: WorkItem, lease: ExecutionLease | None) -> WorkItem:
    fields = {name: getattr(item, name) for name in item.__dataclass_fields__}
    return WorkItem(**{**fields, "lease_id": None if lease is None else lease.lease_id})


@st.composite
def ruled(draw: st.DrawFn, state: LedgerState, graph_ids: tuple[str, ...]) -> None:
    """Let somebody pause or resume a scope, or a resource close or open."""
    until = draw(st.one_of(st.none(), moments()))
    if draw(st.booleans()):
        resource = draw(st.sampled_from((*RESOURCES, *KEYS)))
        if until is None:
            state.closures.pop(resource, None)
        else:
            state.closures[resource] = ResourceClosure(resource=resource, until=until, by="w1", at=NOW)
        return
    scope, name = draw(
        st.sampled_from(
            (
                ("workspace", ""),
                *(("group", each) for each in graph_ids),
                *(("agent", each) for each in WORKERS),
                *(("resource", each) for each in (*RESOURCES, *KEYS)),
            )
        )
    )
    made: Any = {"scope": scope, "name": name, "by": "ann", "at": NOW, "until": until}
    if state.pauses.pop(pause_key(scope, name), None) is None:
        state.pauses[pause_key(scope, name)] = Pause(**made)


@st.composite
def vouched_for(draw: st.DrawFn, state: LedgerState, graph_id: str, node: TaskNode) -> None:
    """Let a person approve a node for one of its ownerships."""
    granted = Approval(
        graph_id=graph_id,
        node_id=node.node_id,
        epoch=draw(st.integers(1, 3)),
        digest=approval_digest(node),
        approved_by="owner",
        at=NOW,
    )
    state.approvals[graph_id] = (*state.approvals.get(graph_id, ()), granted)


def _nodes(graphs: Mapping[str, LoadedGraph]) -> list[tuple[str, TaskNode]]:
    found = [(name, each.graph) for name, each in sorted(graphs.items()) if each.graph is not None]
    return [(name, node) for name, graph in found for node in graph.nodes]


@st.composite
def events(
    draw: st.DrawFn, state: LedgerState, graphs: Mapping[str, LoadedGraph], repositories: tuple[str, ...]
) -> set[NodeKey]:
    """Let one to three things happen to the state; return the nodes that they were about."""
    touched: set[NodeKey] = set()
    nodes = _nodes(graphs)
    for what in draw(
        st.lists(st.sampled_from(("work", "work", "work", "gone", "rule", "vouch")), min_size=1, max_size=3)
    ):
        if what == "rule":
            draw(ruled(state, tuple(sorted(graphs))))
        elif what == "gone" or not nodes:
            key = (draw(st.sampled_from((*sorted(graphs), "gone"))), "of-no-file")
            draw(worked_on(state, key, repositories))
            touched.add(key)
        else:
            graph_id, node = draw(st.sampled_from(nodes))
            draw(
                vouched_for(state, graph_id, node)
                if what == "vouch"
                else worked_on(state, (graph_id, node.node_id), repositories)
            )
            touched.add((graph_id, node.node_id))
    return touched


@st.composite
def ledgers(draw: st.DrawFn, graphs: Mapping[str, LoadedGraph], repositories: tuple[str, ...]) -> LedgerState:
    """A state after a few things happened."""
    state = LedgerState()
    for _ in range(draw(st.integers(0, 3))):
        draw(events(state, graphs, repositories))
    return state
