"""Several writers at once lose nothing, and one that is killed stops nobody and loses nothing that it told of."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.adapters.fault_points import FAULT_POINTS
from tests.scenarios.attack import Json, Server, graphs_of, logs_parse, run
from tests.scenarios.nobody import told
from tests.unit.adapters.reading import node, put_graph

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = 8
ROUNDS = 6
WEIGHTS = ("priority", "dependency", "affinity", "cost", "fairness", "urgency", "deadline")


def document(root: Path, name: str) -> Json:
    return dict(json.loads((root / ".metagit" / name).read_text()))


def workspace(root: Path) -> Path:
    put_graph(graphs_of(root), "g", node("a"), node("b", risk="destructive"), node("c"))
    return root


def all_writes(number: int, server: Server) -> list[Json]:
    """Write to every file of the workspace, several times."""
    answers = []
    for turn in range(1, ROUNDS + 1):
        name, node_id = WEIGHTS[number % len(WEIGHTS)], f"n{number}"
        answers += [
            server.ask("task_update", node_id=node_id, priority=turn),
            server.ask("task_plan", title="g", graph_id="g", nodes=[{"title": f"t{number} {turn}"}]),
            server.ask("task_plan", title=f"own {number} {turn}", nodes=[{"title": "x", "slots": 2}]),
            server.ask("schedule_policy", action="set", graph_id="g", **{name: turn}),
            server.ask("schedule_next", limit=3, agent_id=f"agent-{number}"),
        ]
    return answers


def test_eight_servers_at_once_lose_no_update(tmp_path: Path) -> None:
    put_graph(graphs_of(tmp_path), "g", *(node(f"n{number}") for number in range(WRITERS)))
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(tmp_path)) for _ in range(WRITERS)]
        for server in servers:
            server.enter("2026-07-28")
        with ThreadPoolExecutor(WRITERS) as pool:
            answers = [each for found in pool.map(all_writes, range(WRITERS), servers) for each in found]
        for server in servers:
            server.end()
    assert [each for each in answers if "code" in each] == []
    nodes = document(tmp_path, "tasks/graphs/g.json")["nodes"]
    found = {row["node_id"]: row.get("priority") for row in nodes[:WRITERS]}
    assert found == {f"n{number}": ROUNDS for number in range(WRITERS)}
    turns = [(number, turn) for number in range(WRITERS) for turn in range(1, ROUNDS + 1)]
    assert sorted(row["title"] for row in nodes[WRITERS:]) == sorted(f"t{number} {turn}" for number, turn in turns)
    assert len({row["node_id"] for row in nodes}) == len(nodes)
    overrides = document(tmp_path, "schedule/policy.json")["graph_overrides"]["g"]
    assert overrides == dict.fromkeys(WEIGHTS, float(ROUNDS))
    own = {f"own-{number}-{turn}" for number, turn in turns}
    assert [row["graph_id"] for row in document(tmp_path, "tasks/index.json")["graphs"]] == sorted({"g", *own})
    kept = document(tmp_path, "schedule/kept.json")["graphs"]
    assert {name: kept[name]["nodes"]["x"]["slots"] for name in own} == dict.fromkeys(own, 2)
    assert logs_parse(tmp_path)
    log = (tmp_path / ".metagit/schedule/decisions.jsonl").read_text().splitlines()
    logged = {json.loads(line)["decision_id"] for line in log}
    assert len(logged) == len(log)
    assert {each["decision_id"] for answer in answers for each in answer.get("decisions", [])} <= logged


def test_two_starts_of_one_node_have_one_winner(tmp_path: Path) -> None:
    put_graph(graphs_of(tmp_path), "g", *(node(f"n{number}") for number in range(10)))
    with Server(tmp_path) as one, Server(tmp_path) as two, ThreadPoolExecutor(2) as pool:
        for server in (one, two):
            server.enter("2026-07-28")

        def start(server: Server, agent_id: str) -> list[Any]:
            asked = [
                server.ask("task_update", node_id=f"n{number}", status="running", agent_id=agent_id)
                for number in range(10)
            ]
            return [each.get("code", "") for each in asked]

        first, second = pool.submit(start, one, "ann"), pool.submit(start, two, "bob")
        outcomes = zip(first.result(60), second.result(60), strict=True)
        assert [sorted(each) for each in outcomes] == [["", "NODE_NOT_ELIGIBLE"]] * 10
        one.end()
        two.end()


# --- kill -9 -----------------------------------------------------------------------------------------------------

COMMANDS: dict[str, tuple[list[str], set[str]]] = {
    "plan": (
        ["task", "plan", "--title", "new", "--nodes", '[{"title": "x", "risk": "external"}]'],
        {"graph", "index", "kept", "events"},
    ),
    "extend": (
        ["task", "plan", "--title", "g", "--graph-id", "g", "--nodes", '[{"title": "x", "risk": "external"}]'],
        {"graph", "index", "kept", "events"},
    ),
    "update": (
        ["task", "update", "a", "--graph-id", "g", "--risk", "external", "--status", "completed"],
        {"graph", "index", "kept", "events"},
    ),
    "next": (["schedule", "next"], {"kept", "decisions", "events"}),
    "set": (["schedule", "policy", "set", "--deadline", "0.5"], {"policy", "kept", "audit"}),
    "approve": (["work", "approve", "b", "--graph-id", "g", "--operator", "ada"], {"ledger", "audit"}),
}
KILLS = [
    (name, point) for name, (_, kinds) in COMMANDS.items() for point in FAULT_POINTS if point.partition(".")[0] in kinds
]


def said(root: Path) -> Json:
    """What the files say to any reader, times left out; hidden files are nobody's."""
    found: Json = {}
    for path in sorted((root / ".metagit").rglob("*.json")):
        if not path.name.startswith("."):
            found[path.name] = without_times(json.loads(path.read_text()))
    return found


def without_times(value: object) -> object:
    if isinstance(value, dict):
        # The id of a workspace is drawn with its ledger.
        times = {"at", "created_at", "updated_at", "workspace_id"}
        return {name: without_times(each) for name, each in value.items() if name not in times}
    return [without_times(each) for each in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def afterwards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Json]]:
    """What the files say after each command that nothing disturbs, and after the decision that follows."""
    found: dict[str, list[Json]] = {}
    for name, (command, _) in COMMANDS.items():
        root = workspace(tmp_path_factory.mktemp(name))
        assert told(root, command)[0] == 0
        found[name] = [said(root)]
        # What other programs wrote is kept with the next decision.
        assert told(root, COMMANDS["next"][0])[0] == 0
        found[name].append(said(root))
    return found


@pytest.mark.parametrize(("name", "point"), KILLS, ids=[f"{name} {point}" for name, point in KILLS])
def test_a_kill_at_each_step_of_each_command(
    tmp_path: Path, afterwards: dict[str, list[Json]], name: str, point: str
) -> None:
    root = workspace(tmp_path / "w")
    before = said(root)
    command, _ = COMMANDS[name]
    killed = run(root, *command, env={"METAGIT_MCP_FAULT": point})
    # The name on standard error proves that the point was reached.
    assert (killed.code, killed.out, killed.err) == (-9, b"", f"{point}\n".encode())

    # Each file is as before or as afterwards, and nothing that any reader takes is half written.
    left, (after, in_the_end) = said(root), afterwards[name]
    assert [file for file in left if left[file] not in (before.get(file), after.get(file), {})] == []
    # The next command is not stopped; the same one brings everything to its end, unless it stands already.
    code, record = told(root, command)
    stands = name == "plan" and "new.json" in left
    extended = name == "extend" and left["g.json"] == after["g.json"]
    assert (code, record.get("code")) == ((4, "GRAPH_EXISTS") if stands else (0, None))
    if said(root) != after and not extended:
        # What is in force and was not kept yet is kept by the next one; the list waits for the next change.
        assert told(root, COMMANDS["next"][0])[0] == 0
        left = said(root)
        assert {file: left[file] for file in left if file != "index.json"} == {
            file: in_the_end[file] for file in in_the_end if file != "index.json"
        }
    torn = [line for log in root.rglob("*.jsonl") for line in log.read_bytes().split(b"\n") if not parses(line)]
    assert len(torn) == int(point.endswith("appended_half"))


def parses(line: bytes) -> bool:
    try:
        return not line or isinstance(json.loads(line), dict)
    except ValueError:
        return False
