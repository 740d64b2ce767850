"""Graphs, plans and policies of a size that nobody expects: every answer in bounded time, and under its limit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.attack import ANSWER_LIMIT, Json, Server, graphs_of, offered, run, shown
from tests.unit.adapters.reading import graph, node, put, put_graph
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from pathlib import Path

MANY = 50_000


def written(root: Path, nodes: list[Json], graph_id: str = "g") -> None:
    (graphs_of(root) / f"{graph_id}.json").write_text(json.dumps(graph(*nodes, graph_id=graph_id)))


def chain(length: int) -> list[Json]:
    return [node(f"n{place}", depends_on=[f"n{place - 1}"] if place else []) for place in range(length)]


def test_a_chain_of_50_000_in_a_file(tmp_path: Path) -> None:
    written(tmp_path, chain(MANY))
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        assert offered(server.ask("schedule_next", limit=100)) == ["n0"]
        told = server.ask("schedule_status", node_id=f"n{MANY - 1}")
        assert told["explain"]["reasons"] == [
            {"reason": "not_ready", "text": f"not_ready(unfinished n{MANY - 2})"},
        ]
        assert (told["counts"]["nodes"], told["counts"]["waiting"]) == (MANY, MANY - 1)
        closing = server.ask("task_update", node_id="n0", depends_on=[f"n{MANY - 1}"])
        assert closing["code"] == "GRAPH_CYCLE"
        assert len(closing["details"]["cycle"]) == 50
        server.end()


def test_a_circle_of_50_000_in_a_file_is_named_and_harms_no_other_graph(tmp_path: Path) -> None:
    nodes = chain(MANY)
    nodes[0]["depends_on"] = [f"n{MANY - 1}"]
    written(tmp_path, nodes)
    put_graph(graphs_of(tmp_path), "good", node("a"))
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        answer = server.answer(server.begin("tools/call", {"name": "metagit_schedule_next", "arguments": {}}), 60)
        assert offered(answer["result"]["structuredContent"]) == ["a"]
        status = server.ask("schedule_status", graph_id="g")
        assert (status["needs_person_total"], status["counts"]["waiting"]) == (MANY, MANY)
        assert status["needs_person"][0]["reason"].startswith("not_ready(cycle n0 -> n49999 -> n49998 -> ")
        server.end()


DEEP = 5_000
# Each would cost the square of its size if what a node inherits were told node by node.
HIERARCHIES: dict[str, list[Json]] = {
    "blocked parents, one in the other": [
        node(f"n{level}", status="blocked", **({"parent_id": f"n{level - 1}"} if level else {}))
        for level in range(DEEP)
    ],
    "parents that wait for the end of another line": [
        node(f"{line}{level}", **({"parent_id": f"{line}{level - 1}"} if level else {}), depends_on=needed)
        for line, needed in (("a", [f"b{DEEP - 1}"]), ("b", []))
        for level in range(DEEP)
    ],
    "parents in a ring": [
        node(f"n{level}", parent_id=f"n{level - 1}" if level else f"n{DEEP - 1}", depends_on=["n0"])
        for level in range(DEEP)
    ],
    "a parent that waits for thousands, with thousands of children": [
        *(node(f"d{number}") for number in range(DEEP)),
        node("parent", depends_on=[f"d{number}" for number in range(DEEP)]),
        *(node(f"c{number}", parent_id="parent") for number in range(DEEP)),
    ],
    "a parent that is gone for good": [
        node("parent", status="cancelled"),
        *(node(f"n{level}", parent_id=f"n{level - 1}" if level else "parent") for level in range(DEEP)),
    ],
}


@pytest.mark.parametrize("nodes", HIERARCHIES.values(), ids=list(HIERARCHIES))
def test_hierarchies_of_thousands(tmp_path: Path, nodes: list[Json]) -> None:
    written(tmp_path, nodes)
    put_graph(graphs_of(tmp_path), "good", node("good", priority=9))
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        assert offered(server.ask("schedule_next", preview=True)) == ["good"]
        assert server.ask("schedule_status")["counts"]["nodes"] == len(nodes) + 1
        assert server.ask("schedule_status", node_id=nodes[-1]["node_id"])["explain"]["title"] != ""
        server.end()


def test_plans_of_thousands_of_nodes_are_written_or_refused_whole(tmp_path: Path) -> None:
    count = 5_000
    ids = [f"n{place}" for place in range(count)]
    ring = [{"title": name, "node_id": name, "depends_on": [ids[place - 1]]} for place, name in enumerate(ids)]
    (tmp_path / ".metagit").mkdir()
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        refused = server.ask("task_plan", title="ring", nodes=ring)
        assert (refused["code"], list(graphs_of(tmp_path).glob("*.json"))) == ("GRAPH_CYCLE", [])
        # Each waits for the one that is named after it.
        answer = server.ask("task_plan", title="chain", nodes=[*reversed(ring[1:]), {**ring[0], "depends_on": []}])
        assert (answer["added"], answer["truncated"]) == (count, True)
        # The same title again and again makes as many ids.
        same = server.ask("task_plan", title="same", outline="do it\n" * count)
        assert (same["added"], same["graph"]["nodes"][2]["node_id"]) == (count, "do-it-3")
        again = server.ask("task_plan", title="same", graph_id="same", nodes=[{"title": "Do it!"}] * 1_000)
        assert again["graph"]["nodes"][0]["node_id"] == f"do-it-{count + 1}"
        deep = "\n".join("  " * level + f"level {level}" for level in range(1_000))
        assert server.ask("task_plan", title="deep", outline=deep)["added"] == 1_000
        assert sorted(offered(server.ask("schedule_next", limit=3, graph_id="chain"))) == ["n0"]
        assert offered(server.ask("schedule_next", graph_id="deep")) == ["level-999"]
        server.end()


def test_a_node_that_depends_on_10_000(tmp_path: Path) -> None:
    names = [f"d{place:05}" for place in range(10_000)]
    written(tmp_path, [*(node(name) for name in names), node("hub", depends_on=names)])
    written(tmp_path, [*(node(name, status="completed") for name in names), node("end", depends_on=names)], "done")
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        told = server.ask("schedule_status", node_id="hub")
        assert told["explain"]["reasons"][0]["text"] == "not_ready(unfinished d00000)"
        assert "explain.reasons" in [cut["what"] for cut in told["omitted"]]
        ready = server.ask("schedule_next", graph_id="done")
        assert (offered(ready), ready["omitted"][0]["what"]) == (["end"], "decisions.*.dispatch_hints.depends_on")
        changed = server.ask("task_update", node_id="hub", priority=3)
        assert (changed["node"]["priority"], changed["omitted"][0]["what"]) == (3, "node.depends_on")
        lost = server.ask("task_update", node_id="hub", depends_on=[f"lost{name}" for name in names])
        assert (lost["code"], len(lost["details"]["missing"])) == ("UNKNOWN_DEPENDENCY", 50)
        server.end()
    everything = run(tmp_path, "task", "show", "hub").record["node"]
    assert everything["depends_on"] == names


def test_1_000_graphs_are_answered_and_listed_in_pages(tmp_path: Path) -> None:
    write_workspace(tmp_path, nodes=4_000, graphs=1_000, seed=1, worktrees=300, merges=2_000, decisions=2_000)
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        full = server.ask("schedule_next", limit=100, detail="full", preview=True)
        (cut,) = full["omitted"]
        assert (cut["what"], cut["count"] + len(full["decisions"])) == ("decisions", 100)
        assert len(server.ask("schedule_next", limit=100, preview=True)["decisions"]) == 100
        status = server.ask("schedule_status", recent=100)
        assert (status["groups_total"], len(status["groups"])) == (1_000, 20)
        seen: list[str] = []
        while page := server.ask("schedule_status", recent=0, **({"after_group": seen[-1]} if seen else {}))["groups"]:
            seen += [each["graph_id"] for each in page]
        # Each once, by how far it is behind its share.
        assert sorted(seen) == sorted({path.stem for path in graphs_of(tmp_path).glob("*.json")})
        ambiguous = server.ask("task_update", node_id="n000000", priority=1)
        assert (ambiguous["code"], len(ambiguous["details"]["graphs"])) == ("NODE_AMBIGUOUS", 50)
        server.end()


def test_a_policy_of_5_000_overrides_is_cut_and_the_rest_of_the_answer_is_not(tmp_path: Path) -> None:
    put_graph(graphs_of(tmp_path), "g0001", node("a"), node("b", status="blocked"))
    overrides = {f"g{number:04}": {"priority": 1.5, "cost": None} for number in range(5_000)}
    groups = {f"g{number:04}": {"quota": 3} for number in range(5_000)}
    put(tmp_path / ".metagit/schedule/policy.json", {"graph_overrides": overrides, "groups": groups})
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        policy = server.ask("schedule_policy")
        assert [cut["what"] for cut in policy["omitted"]] == ["policy.graph_overrides", "policy.groups"]
        assert policy["policy"]["weights"]["priority"] == 1.0
        preview = server.ask("schedule_policy", action="preview", graph_id="g0001", priority=3)
        assert [each["node_id"] for each in preview["effect"]["after"]] == ["a"]
        status = server.ask("schedule_status")
        assert [each["graph_id"] for each in status["groups"]] == ["g0001"]
        assert [each["node_id"] for each in status["needs_person"]] == ["b"]
        assert [cut["what"] for cut in status["omitted"]] == ["policy.graph_overrides"]
        changed = server.ask("schedule_policy", action="set", graph_id="g0001", priority=3, cost=0)
        assert changed["changed"] is True
        server.end()
    kept = json.loads((tmp_path / ".metagit/schedule/policy.json").read_text())
    assert kept == {"graph_overrides": {**overrides, "g0001": {"priority": 3.0, "cost": 0.0}}, "groups": groups}


def test_the_command_line_keeps_the_same_limit_and_people_see_all(tmp_path: Path) -> None:
    written(tmp_path, [node(f"n{place}", title="t" * 200) for place in range(2_000)])
    end = run(tmp_path, "schedule", "next", "--limit", "100", "--detail", "full", "--preview")
    assert (end.code, len(end.out) <= ANSWER_LIMIT + 1, end.record["truncated"]) == (0, True, True)
    assert shown(tmp_path, "task", "list").count("\n") > 2_000
