"""Draws workspaces: graphs, policies, surroundings and approvals, small enough that odd combinations meet.

Most values are plain, so that some nodes can run; it must not decide which of them should.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from metagit_mcp.domain.approval import Approval, approval_digest
from metagit_mcp.domain.limits import AgentPolicy, GatePolicy, LeasePolicy, ResourcePolicy
from metagit_mcp.domain.policy import (
    CLASSES,
    WEIGHT_NAMES,
    AffinityPolicy,
    ClassWeights,
    GroupPolicy,
    SchedulePolicy,
    WeightOverride,
    Weights,
)
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.scheduling.capabilities import asker_for
from metagit_mcp.scheduling.snapshot import Snapshot, Surroundings, Worktree
from tests import oracle
from tests.properties.work_strategies import EXCLUSIVE, RESOURCES, TOUCHES, USES, WRITTEN, ledgers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metagit_mcp.scheduling.snapshot import Asker

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
GRAPH_IDS = ("g1", "g2", "g3")
NODE_IDS = tuple("abcdefgh")
REPOSITORIES = ("p/a", "p/b", "q/a", ".", "solo")
AGENTS = ("", "w1", "w2", "team-x")
CAPABILITIES = ("gpu", "write")

# The same repositories as people spell them: (repository, project).
SPELLINGS: tuple[tuple[str | None, str | None], ...] = (
    ("p/a", None),
    (" P/A.git ", "elsewhere"),
    ("p\\a", "p"),
    ("a", " P "),
    ("p//b/", None),
    ("q/a", "p"),
    (".", "p"),
    ("solo", None),
    (None, "p"),
    ("  ", None),
    (None, None),
)
# Estimates at which the cost term falls on exactly half a micro, beside round and odd ones.
TOKENS = (None, None, None, 0, 1, 280, 1000, 5_400, 31_000, 999_999_999, -1)
WEIGHT_VALUES = (0, 0.0, 1.0, 0.2, 0.25, 0.5, 0.000001, 0.333333, 0.1234565, 0.0000005, 3.5)


def rare(values: tuple[Any, ...], plain: object = None, odds: int = 3) -> st.SearchStrategy[Any]:
    """Draw `plain` in most cases, else one of `values`."""
    return st.sampled_from((plain,) * (odds * len(values)) + values)


@cache
def instants() -> st.SearchStrategy[datetime]:
    """Instants about NOW, many of them exactly at a threshold that some other instant makes."""
    return st.sampled_from((-90_000, -86_400, -3_600, -1, 0, 1, 3_600, 86_400, 90_000)).map(
        lambda seconds: NOW + timedelta(seconds=seconds)
    )


# Made once: to make a strategy costs more than to draw from it.
_NODE_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "place": st.sampled_from(SPELLINGS),
    "title": st.sampled_from(("one", "two")),
    "depends_on": rare((*((one,) for one in (*NODE_IDS, "zz")), ("a", "b"), ("b", "b", "c")), (), odds=1),
    "status": st.sampled_from(("pending",) * 6 + ("ready", "completed", "cancelled", "running", "blocked", "review")),
    "blocker_reason": st.sampled_from((None, "", "failed: twice", "waits for an answer")),
    "context_budget": rare((0, 500, -3)),
    "priority": st.sampled_from((0, 0, 1, 1, 2, -1, 9, 1_000_000, -1_000_000)),
    "estimated_tokens": st.sampled_from(TOKENS),
    "estimated_runtime_seconds": rare((0, 3_600)),
    "deadline": rare((NOW - timedelta(days=1), NOW + timedelta(days=1), NOW + timedelta(hours=25)), odds=1),
    "not_before": rare((NOW - timedelta(hours=1), NOW, NOW + timedelta(hours=1)), odds=2),
    "requested_urgency": rare(("routine", "normal", "high", "critical")),
    "risk": rare(("none", "reversible", "high_risk", "destructive"), odds=4),
    "approval": rare(("not_required", "policy_required", "human_required"), odds=4),
    "capabilities": rare((("gpu",), ("write", "gpu"), ("gpu", "write"), ())),
    "slots": rare((1, 2, 3)),
    "parent_id": rare((*NODE_IDS, "zz"), odds=3),
    "updated_at": st.sampled_from(WRITTEN),
    "uses": rare(USES, odds=1),
    "exclusive": rare(EXCLUSIVE, odds=2),
    "touches": rare(TOUCHES, odds=1),
    "budget": rare(({"tokens": 100}, {"tokens": 50, "seconds": 9}, {"seconds": 0}, {})),
}


@st.composite
def task_nodes(draw: st.DrawFn, node_id: str) -> TaskNode:
    """One node with any of the fields that the scheduler reads."""
    fields = {name: draw(each) for name, each in _NODE_FIELDS.items()}
    repository, project = fields.pop("place")
    return TaskNode(node_id=node_id, repository=repository, project=project, **fields)


@st.composite
def loaded_graphs(draw: st.DrawFn, graph_id: str) -> LoadedGraph:
    """One graph with up to eight nodes in any order, now and then broken or inactive."""
    if draw(rare((True,), plain=False, odds=15)):
        return LoadedGraph(graph_id=graph_id, graph=None)
    ids = draw(st.lists(st.sampled_from(NODE_IDS), unique=True, max_size=len(NODE_IDS)))
    nodes = tuple(draw(task_nodes(node_id)) for node_id in ids)
    defects = {
        node_id: "slots: should be greater than or equal to 1" for node_id in ids if draw(rare((True,), odds=12))
    }
    status = draw(rare(("completed", "paused"), plain="active", odds=6))
    return LoadedGraph(graph_id=graph_id, graph=TaskGraph(title="t", status=status, nodes=nodes), defects=defects)


@cache
def weights(owner: type[Any], *, may_inherit: bool = False) -> st.SearchStrategy[Any]:
    values = st.sampled_from((*((None,) * 6 if may_inherit else ()), *WEIGHT_VALUES))
    return st.builds(owner, **dict.fromkeys(WEIGHT_NAMES, values))


AGENT_POLICIES = {
    "w1": AgentPolicy(capabilities=("gpu",), uses={"api": 2, "db": 0}),
    "team-*": AgentPolicy(slots=3, uses={"disk": 1}),
    "*": AgentPolicy(capabilities=("write",), slots=2, uses={"api": 1}),
}


@cache
def group_policies() -> st.SearchStrategy[GroupPolicy]:
    """What a policy says of one Group."""
    return st.builds(
        GroupPolicy,
        priority_class=st.sampled_from(("normal", *CLASSES)),
        weight=st.sampled_from((1, 1, 2, 5, 16)),
        quota=st.sampled_from((None, 0, 1, 2, 4)),
        budget=st.sampled_from((None, None, {"tokens": 100})),
    )


@cache
def policies() -> st.SearchStrategy[SchedulePolicy]:
    """Policies with every key that decides anything."""
    named = st.sets(st.sampled_from(sorted(AGENT_POLICIES)), max_size=2)
    return st.builds(
        SchedulePolicy,
        weights=st.one_of(st.just(Weights()), weights(Weights)),
        merge_queue_threshold=st.integers(1, 3),
        merge_pressure_penalty=st.sampled_from((2.0, 0.0, 0.000001, 0.1234565)),
        skip_on_merge_pressure=st.booleans(),
        graph_overrides=st.dictionaries(
            st.sampled_from(GRAPH_IDS), weights(WeightOverride, may_inherit=True), max_size=2
        ),
        ordering=st.sampled_from(("fair", "fair", "fair", "score")),
        classes=st.one_of(
            st.just(ClassWeights()), st.builds(ClassWeights, **dict.fromkeys(CLASSES, st.integers(1, 16)))
        ),
        deadline_window=st.sampled_from((8, 8, 0, 1, 40)),
        class_window=st.sampled_from((0, 0, 5)),
        drain_limit=st.sampled_from((3, 3, 0, 1)),
        pass_over_limit=st.sampled_from((20, 0, 1, 2)),
        slots=st.sampled_from((None, None, 1, 2, 2, 3, 3, 5, 8)),
        groups=st.dictionaries(st.sampled_from(GRAPH_IDS), group_policies(), max_size=2),
        agent_slots=st.sampled_from((0, 1, 1, 2)),
        resources=st.dictionaries(
            st.sampled_from(RESOURCES), st.builds(ResourcePolicy, capacity=st.integers(0, 3)), max_size=3
        ),
        leases=st.sampled_from((LeasePolicy(), LeasePolicy(observed_seconds=3_600))),
        agents=named.map(lambda chosen: {pattern: AGENT_POLICIES[pattern] for pattern in sorted(chosen)}),
        deadline_horizon_seconds=st.sampled_from((0, 3_600, 86_400)),
        gates=st.sampled_from((GatePolicy(), GatePolicy(approval_required_for=("none", "reversible")))),
        affinity=st.builds(
            AffinityPolicy,
            scope=st.sampled_from(("pool", "agent")),
            max_age_seconds=st.sampled_from((None, 3_600, 1_000_000_000)),
            require_path=st.booleans(),
        ),
    )


@cache
def surroundings() -> st.SearchStrategy[Surroundings]:
    """Worktrees, merge queue and services, by the canonical keys that adapters give."""
    tree = st.builds(
        Worktree,
        repository=st.sampled_from((*REPOSITORIES, "")),
        agent_id=st.sampled_from(AGENTS),
        path=st.sampled_from(("/trees/1", "/trees/2")),
        on_disk=st.booleans(),
        updated_at=st.one_of(st.none(), instants(), st.just(datetime.max.replace(tzinfo=UTC))),
    )
    counts = st.dictionaries(st.sampled_from((*REPOSITORIES, "")), st.integers(0, 4), max_size=5)
    return st.builds(Surroundings, worktrees=st.lists(tree, max_size=4).map(tuple), merge_depth=counts, services=counts)


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """The parts of a snapshot; `vouched` is what people approved, as the node stood then."""

    policy: SchedulePolicy
    graphs: Mapping[str, LoadedGraph]
    surroundings: Surroundings
    vouched: Mapping[tuple[str, str], tuple[oracle.Vouched, ...]] = field(default_factory=dict)
    now: datetime = NOW
    work: LedgerState = field(default_factory=LedgerState)

    def snapshot(self, before: Snapshot | None = None) -> Snapshot:
        """The scheduler's view; parts equal to those of `before` are the same objects, as the source promises."""
        made: dict[str, tuple[Approval, ...]] = {}
        for (graph_id, node_id), every in sorted(self.vouched.items()):
            found = tuple(_approval(graph_id, node_id, vouched) for vouched in every)
            made[graph_id] = (*made.get(graph_id, ()), *found)
        approvals = before.approvals if before is not None and before.approvals == made else made
        return Snapshot(
            policy=self.policy,
            graphs=self.graphs,
            surroundings=self.surroundings,
            approvals=approvals,
            now=self.now,
            work=self.work,
        )

    def seen_by(self, asker: Asker) -> oracle.World:
        """The oracle's view for one asker."""
        around = self.surroundings
        trees = [
            oracle.Tree(repository=t.repository, agent_id=t.agent_id, on_disk=t.on_disk, updated_at=t.updated_at)
            for t in around.worktrees
        ]
        return oracle.World(
            policy=self.policy,
            graphs=self.graphs,
            trees=trees,
            merge_depth=around.merge_depth,
            services=around.services,
            approvals=self._approvals(),
            items={item.key: item for items in self.work.items.values() for item in items.values()},
            leases=tuple(self.work.leases.values()),
            pauses=tuple(self.work.pauses.values()),
            closures=tuple(self.work.closures.values()),
            now=self.now,
            agent_id=asker.agent_id,
            capabilities=asker.capabilities,
        )

    def _approvals(self) -> dict[tuple[str, str], list[tuple[int, oracle.Vouched]]]:
        """What people approved: in the file for the first ownership, in the ledger for the one that it names."""
        made = {key: [(1, vouched) for vouched in every] for key, every in self.vouched.items()}
        for graph_id, granted in self.work.approvals.items():
            graph = self.graphs[graph_id].graph if graph_id in self.graphs else None
            for node in graph.nodes if graph is not None else ():
                vouched = (node.title, oracle.place(node), node.risk or "", node.depends_on)
                key = (graph_id, node.node_id)
                for each in granted:
                    if each.node_id == node.node_id and each.digest == approval_digest(node):
                        made.setdefault(key, []).append((each.epoch, vouched))
        return made


def _approval(graph_id: str, node_id: str, vouched: oracle.Vouched) -> Approval:
    title, repository, risk, depends_on = vouched
    node: Any = TaskNode(node_id=node_id, title=title, depends_on=depends_on, repository=repository)
    digest = approval_digest(replace(node, risk=risk or None))
    return Approval(graph_id=graph_id, node_id=node_id, epoch=1, digest=digest, approved_by="owner", at=NOW)


@st.composite
def approved(draw: st.DrawFn, graphs: Mapping[str, LoadedGraph]) -> dict[tuple[str, str], tuple[oracle.Vouched, ...]]:
    """Approvals of some nodes: of what they are now, of what they were under another title, or of nothing there."""
    vouched: dict[tuple[str, str], tuple[oracle.Vouched, ...]] = {}
    for graph_id, loaded in sorted(graphs.items()):
        for node in loaded.graph.nodes if loaded.graph is not None else ():
            asked = node.approval is not None or node.risk is not None
            kind = draw(st.sampled_from(("none", "none", "now", "former", "both"))) if asked else "none"
            now: oracle.Vouched = (node.title, oracle.place(node), node.risk or "", node.depends_on)
            former: oracle.Vouched = ("former title", *now[1:])
            found = {"none": (), "now": (now,), "former": (former,), "both": (former, now)}[kind]
            if found:
                vouched[graph_id, node.node_id] = found
    return vouched


@st.composite
def workspaces(draw: st.DrawFn) -> Workspace:
    """A whole workspace."""
    ids = draw(st.lists(st.sampled_from(GRAPH_IDS), unique=True, min_size=1, max_size=3))
    graphs = {graph_id: draw(loaded_graphs(graph_id)) for graph_id in ids}
    return Workspace(
        policy=draw(policies()),
        graphs=graphs,
        surroundings=draw(surroundings()),
        vouched=draw(approved(graphs)),
        now=draw(instants()),
        work=draw(ledgers(graphs, REPOSITORIES)),
    )


@st.composite
def successors(draw: st.DrawFn, before: Workspace) -> Workspace:
    """The workspace after one or two things changed; what did not change is the same object."""
    after = before
    for what in draw(
        st.lists(
            st.sampled_from(("graph", "graph", "node", "gone", "policy", "around", "approve", "time")),
            min_size=1,
            max_size=2,
        )
    ):
        after = draw(_changed(after, what))
    return after


def _changed(before: Workspace, what: str) -> st.SearchStrategy[Workspace]:
    if what == "policy":
        return policies().map(lambda policy: replace(before, policy=policy))
    if what == "around":
        return surroundings().map(lambda around: replace(before, surroundings=around))
    if what == "time":
        return instants().map(lambda now: replace(before, now=now))
    if what == "approve":
        return approved(before.graphs).map(lambda vouched: replace(before, vouched=vouched))
    if what == "gone":
        return st.sampled_from(GRAPH_IDS).map(
            lambda gone: replace(before, graphs={name: each for name, each in before.graphs.items() if name != gone})
        )
    if what == "node":
        return _one_node_changed(before)
    return st.sampled_from(GRAPH_IDS).flatmap(
        lambda name: loaded_graphs(name).map(lambda each: replace(before, graphs={**before.graphs, name: each}))
    )


@st.composite
def _one_node_changed(draw: st.DrawFn, before: Workspace) -> Workspace:
    full = [name for name, each in sorted(before.graphs.items()) if each.graph is not None and each.graph.nodes]
    if not full:
        return before
    loaded = before.graphs[draw(st.sampled_from(full))]
    assert loaded.graph is not None
    place = draw(st.integers(0, len(loaded.graph.nodes) - 1))
    nodes = list(loaded.graph.nodes)
    nodes[place] = draw(task_nodes(nodes[place].node_id))
    changed = replace(loaded, graph=replace(loaded.graph, nodes=tuple(nodes)))
    return replace(before, graphs={**before.graphs, loaded.graph_id: changed})


def askers(policy: SchedulePolicy) -> st.SearchStrategy[Asker]:
    """Askers as the application makes them: agent id and claimed capabilities, narrowed by policy."""
    claimed = st.one_of(st.none(), st.frozensets(st.sampled_from(CAPABILITIES)))
    return st.builds(lambda agent_id, can: asker_for(policy, agent_id, can), st.sampled_from(AGENTS), claimed)
