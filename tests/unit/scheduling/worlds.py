"""Draws small worlds in which all that slots, shares, ages and holds decide meets often: a few Groups, few slots.

It must not know what any of it leads to.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

from hypothesis import strategies as st

from metagit_mcp.domain.limits import AgentPolicy, ResourcePolicy
from metagit_mcp.domain.policy import CLASSES, ClassWeights, GroupPolicy, SchedulePolicy
from metagit_mcp.domain.tasks import LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import NOW
from tests.unit.scheduling.claimed import Played

GROUPS = ("a", "b", "c")
RARE = ("policy", "groups", "file", "gone", "time")
ASKERS = (
    Asker(),
    Asker(agent_id="w1"),
    Asker(agent_id="w2", capabilities=frozenset({"gpu"})),
    Asker(capabilities=frozenset({"gpu", "net"})),
)

_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "priority": st.sampled_from((0, 0, 1, 5)),
    "estimated_tokens": st.sampled_from((None, None, 500, 2_500, 9_000)),
    "slots": st.sampled_from((None, None, None, 2, 3)),
    "deadline": st.sampled_from((None, None, None, NOW + timedelta(hours=1), NOW + timedelta(days=3))),
    "requested_urgency": st.sampled_from((None, None, "high", "routine")),
    "capabilities": st.sampled_from(((), (), (), ("gpu",), ("gpu", "net"))),
    "exclusive": st.sampled_from(((), (), (), ("deploy",))),
    "uses": st.sampled_from((None, None, {"api": 1})),
    "repository": st.sampled_from((None, "p/a", "p/b")),
    "status": st.sampled_from(("ready",) * 9 + ("running",)),
}


@st.composite
def graphs(draw: st.DrawFn, graph_id: str) -> LoadedGraph:
    """A Group of up to seven nodes, of which some depend on one another."""
    nodes = []
    for number in range(draw(st.integers(0, 7))):
        before = draw(st.sampled_from((None, None, None, *range(number))))
        fields = {name: draw(each) for name, each in _FIELDS.items()}
        needed = () if before is None else (f"n{before}",)
        nodes.append(TaskNode(node_id=f"n{number}", depends_on=needed, **fields))
    return LoadedGraph(graph_id=graph_id, graph=TaskGraph(title=graph_id, nodes=tuple(nodes)))


@cache
def policies() -> st.SearchStrategy[SchedulePolicy]:
    return st.builds(
        SchedulePolicy,
        ordering=st.sampled_from(("fair", "fair", "fair", "score")),
        slots=st.sampled_from((None, 1, 2, 3, 4)),
        agent_slots=st.just(99),
        classes=st.sampled_from((ClassWeights(), ClassWeights(critical=2, high=1, normal=1, low=1))),
        groups=st.dictionaries(
            st.sampled_from(GROUPS),
            st.builds(
                GroupPolicy,
                priority_class=st.sampled_from(CLASSES),
                weight=st.sampled_from((1, 1, 3, 16)),
                quota=st.sampled_from((None, None, 1, 2, 3)),
            ),
            max_size=3,
        ),
        resources=st.just({"api": ResourcePolicy(capacity=2)}),
        agents=st.sampled_from(({}, {"w1": AgentPolicy(uses={"api": 1})})),
        pass_over_limit=st.sampled_from((0, 1, 2, 20)),
        drain_limit=st.sampled_from((0, 1, 3)),
        deadline_window=st.sampled_from((0, 2, 8)),
        class_window=st.sampled_from((0, 0, 1)),
    )


@st.composite
def moves(draw: st.DrawFn, played: Played) -> None:
    """Let somebody claim, or one of the leases end in some way."""
    leases = sorted(played.work.leases)
    what = draw(st.sampled_from(("claim",) * 4 + ("named", "end", "end", "give back", "pause", "start", *RARE)))
    asker = draw(st.sampled_from(ASKERS))
    if what in {"claim", "named"}:
        graph_id = (
            draw(st.sampled_from(sorted(played.queue.groups))) if what == "named" and played.queue.groups else None
        )
        played.claim(asker, graph_id)
    elif what == "start":
        _start_by_id(draw, played, asker)
    elif what in RARE:
        draw(_changed(played, what))
    elif leases:
        key = played.work.leases[draw(st.sampled_from(leases))].key
        if what == "end":
            played.end(*key, tokens=draw(st.sampled_from((0, 1, 4_000, 20_000))))
        elif what == "give back":
            played.give_back(*key, connection_ended=draw(st.booleans()))
        else:
            played.pause(*key)


@st.composite
def _changed(draw: st.DrawFn, played: Played, what: str) -> None:
    """Let the policy, a file, what lies around or the time be another one."""
    before = played.queue.snapshot
    if what == "policy":
        played.with_policy(draw(policies()))
    elif what == "groups":
        played.with_policy(replace(before.policy, groups=draw(policies()).groups))
    elif what == "file":
        played.with_graphs(
            *({**before.graphs, (made := draw(graphs(draw(st.sampled_from(GROUPS))))).graph_id: made}).values()
        )
    elif what == "gone":
        gone = draw(st.sampled_from(GROUPS))
        played.with_graphs(*(each for each in before.graphs.values() if each.graph_id != gone))
    else:
        played.wait(draw(st.sampled_from((60, 3_600, 200_000))))


def _start_by_id(draw: st.DrawFn, played: Played, asker: Asker) -> None:
    able = [
        (graph_id, node_id)
        for graph_id, each in sorted(played.queue.groups.items())
        for node_id in sorted(each.lanes.place_of)
        if not played.against(graph_id, node_id, asker)
    ]
    if able:
        played.start(*draw(st.sampled_from(able)), asker)


@st.composite
def worlds(draw: st.DrawFn, most: int = 12) -> Played:
    """A world in which some things have happened."""
    played = Played(*(draw(graphs(graph_id)) for graph_id in GROUPS), policy=draw(policies()))
    for _ in range(draw(st.integers(0, most))):
        draw(moves(played))
    return played
