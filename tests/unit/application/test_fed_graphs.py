"""Groups of the ledger beside the graphs of files: rendered once, merged once, and never taken for a file."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from metagit_mcp.application.turns.fed_graphs import FedGraphs
from metagit_mcp.domain.fed_graph import graph_of
from metagit_mcp.domain.feeds import Contract, Feed
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.tasks import LoadedGraph, TaskNode
from metagit_mcp.ports.workspace import WorkspaceImage
from metagit_mcp.scheduling.snapshot import Surroundings
from tests.snapshots import NOW, group, task

SHOP = group("shop", task("api"))
CONTRACT = Contract(node_id="a:1", title="Do it", depends_on=("a:0",), priority=7, capabilities=("python",))


def image(*graphs: LoadedGraph, warnings: tuple[str, ...] = ("w",)) -> WorkspaceImage:
    return WorkspaceImage(
        policy=SchedulePolicy(),
        policy_error=None,
        revision="r",
        graphs={each.graph_id: each for each in graphs},
        surroundings=Surroundings(),
        approvals={},
        state_version="v",
        warnings=warnings,
    )


def feed(group_id: str = "a:b", shape: int = 1, *contracts: Contract) -> Feed:
    return Feed(group_id=group_id, shape=shape, nodes={each.node_id: each for each in contracts})


def test_without_groups_the_image_is_that_of_the_files() -> None:
    fed, read = FedGraphs(), image(SHOP)
    assert fed.beside(read, {}) is read
    assert fed.filed is read.graphs


def test_a_group_is_a_graph_of_its_contracts() -> None:
    fed, read = FedGraphs(), image(SHOP)
    merged = fed.beside(read, {"a:b": feed("a:b", 1, CONTRACT)})
    assert {name: each for name, each in merged.graphs.items() if name != "a:b"} == read.graphs
    loaded = merged.graphs["a:b"]
    assert (loaded.graph_id, loaded.is_fed, loaded.defects, loaded.warnings) == ("a:b", True, {}, ())
    assert loaded.graph is not None
    assert (loaded.graph.title, loaded.graph.status) == ("a:b", "active")
    assert loaded.graph.nodes == (
        TaskNode(
            node_id="a:1",
            title="Do it",
            status="ready",
            depends_on=("a:0",),
            priority=7,
            capabilities=("python",),
            acceptance=(),
        ),
    )
    assert (merged.warnings, fed.filed) == (("w",), read.graphs)


def test_a_node_says_all_that_its_contract_does() -> None:
    """Whatever a contract has is a field of a node: none may be left out."""
    given: dict[str, Any] = {
        "node_id": "a:1",
        "title": "Do it",
        "depends_on": ("a:0",),
        "priority": 7,
        "requested_urgency": "high",
        "deadline": NOW,
        "estimated_runtime_seconds": 60,
        "business_impact": "much",
        "risk": "external",
        "approval": "human_required",
        "capabilities": ("python",),
        "budget": {"tokens": 5},
        "acceptance": ("it runs",),
    }
    assert {each.name for each in fields(Contract)} == given.keys()
    graph = graph_of(feed("a:b", 1, Contract(**given))).graph
    assert graph is not None
    assert graph.nodes == (TaskNode(status="ready", **given),)


def test_what_did_not_change_is_the_same_object() -> None:
    fed, read = FedGraphs(), image(SHOP)
    feeds = {"a:b": feed("a:b", 1, CONTRACT), "c:d": feed("c:d", 4)}
    first = fed.beside(read, feeds)
    assert fed.beside(read, {**feeds, "a:b": replace(feeds["a:b"], cursor=9)}) is first
    grown = fed.beside(read, {**feeds, "a:b": feed("a:b", 2, CONTRACT, replace(CONTRACT, node_id="a:2"))})
    assert grown is not first
    assert grown.graphs["c:d"] is first.graphs["c:d"]
    assert grown.graphs["a:b"] is not first.graphs["a:b"]
    other = image(SHOP, warnings=())
    again = fed.beside(other, feeds)
    assert (again.warnings, again.graphs["c:d"] is first.graphs["c:d"]) == ((), True)


def test_a_group_that_another_ledger_does_not_know_is_gone() -> None:
    fed, read = FedGraphs(), image(SHOP)
    fed.beside(read, {"a:b": feed(), "c:d": feed("c:d")})
    assert set(fed.beside(read, {"c:d": feed("c:d")}).graphs) == {"shop", "c:d"}
    assert fed.beside(read, {}) is read


def test_a_file_of_a_groups_name_does_not_count_and_is_told() -> None:
    fed, read = FedGraphs(), image(SHOP, group("dual", task("x")))
    merged = fed.beside(read, {"dual": feed("dual", 1, CONTRACT)})
    assert merged.graphs["dual"].is_fed
    assert merged.warnings == (
        "w",
        "graph dual: a Group that is fed by Events has this name, so its file does not count: rename it",
    )
    assert fed.filed == {"shop": SHOP}
