"""Several agents at one workspace, over MCP and by command: each node is started by exactly one, and nothing is lost.

Without leases the start is `status=running`; whoever comes second is told so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests import ready
from tests.interfaces.cli.fake_runs import ROOT, WAIT_S, environment
from tests.scenarios.surfaces import Json, Server, chosen, command, lines_of, serving
from tests.scenarios.written import workspace
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NODES = 50
PLACES = [f"g{number % 2}/n{number:02d}" for number in range(NODES)]
BY_SERVER = ("s0", "s1", "s2", "s3")
BY_COMMAND = ("c0", "c1", "c2", "c3")
# What one agent was told of one node: the error's code, or whether it changed the node.
Told = tuple[str, str, str | bool]


def order_of(agent_id: str) -> list[str]:
    """Each agent begins somewhere else, and half of them go the other way."""
    first = (*BY_SERVER, *BY_COMMAND).index(agent_id) * 6
    turned = [*PLACES[first:], *PLACES[:first]]
    return turned if first % 4 else turned[::-1]


class Starter:
    """An agent that starts nodes by command, all at one sign."""

    def __init__(self, root: Path, agent_id: str) -> None:
        self.process = ready.Popen(
            [sys.executable, "-m", "tests.scenarios.starter", str(root), agent_id, *order_of(agent_id)],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def go(self) -> None:
        """Give the sign."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def answers(self) -> list[Json]:
        """What the commands printed, in the agent's order."""
        out, err = self.process.communicate(timeout=2 * WAIT_S)
        assert (self.process.returncode, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

    def stop(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.communicate(timeout=WAIT_S)


def begin(server: Server, agent_id: str) -> list[int]:
    """Ask for every node at once."""
    pairs = (place.split("/") for place in order_of(agent_id))
    return [
        server.begin("task_update", graph_id=graph_id, node_id=node_id, status="running", agent_id=agent_id)
        for graph_id, node_id in pairs
    ]


def told(agent_id: str, answers: list[Json]) -> Iterator[Told]:
    for place, answer in zip(order_of(agent_id), answers, strict=True):
        yield agent_id, place, answer["code"] if "code" in answer else bool(answer["changed"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for graph_id in ("g0", "g1"):
        names = [place.partition("/")[2] for place in PLACES if place.startswith(graph_id)]
        workspace(tmp_path, *(node(name, risk="external", mine=[name]) for name in names), graph_id=graph_id)
    return tmp_path


def race(root: Path) -> list[Told]:
    """Let eight processes start all nodes at once; what each was told."""
    with ExitStack() as stack:
        starters = {name: Starter(root, name) for name in BY_COMMAND}
        for starter in starters.values():
            stack.callback(starter.stop)
        servers = {name: stack.enter_context(serving(root)) for name in BY_SERVER}
        for server in servers.values():
            server.call("schedule_status")
        for starter in starters.values():
            starter.go()
        asked = {name: begin(server, name) for name, server in servers.items()}
        found = [each for name in servers for each in told(name, [servers[name].outcome(n)[1] for n in asked[name]])]
        found += [each for name, starter in starters.items() for each in told(name, starter.answers())]
    return found


def test_eight_processes_start_each_of_fifty_nodes_once(root: Path) -> None:
    found = race(root)
    started = {place: agent_id for agent_id, place, outcome in found if outcome is True}
    assert len(found) == 8 * NODES
    assert sorted(place for _, place, outcome in found if outcome is True) == sorted(PLACES)
    assert {outcome for _, _, outcome in found if outcome is not True} == {"NODE_NOT_ELIGIBLE"}

    metagit = root / ".metagit"
    rows = [
        (f"{graph_id}/{row['node_id']}", row["status"], row["agent_id"], row["risk"], row["mine"])
        for graph_id in ("g0", "g1")
        for row in json.loads((metagit / "tasks" / "graphs" / f"{graph_id}.json").read_text())["nodes"]
    ]
    assert sorted(rows) == sorted(
        (place, "running", agent_id, "external", [place.partition("/")[2]]) for place, agent_id in started.items()
    )
    events = lines_of(metagit / "events" / "taskgraph.jsonl")
    assert sorted(f"{e['payload']['graph_id']}/{e['payload']['node_id']} {e['type']}" for e in events) == sorted(
        f"{place} TaskStarted" for place in PLACES
    )
    assert len({event["event_id"] for event in events}) == NODES
    index = json.loads((metagit / "tasks" / "index.json").read_text())
    assert [row["graph_id"] for row in index["graphs"]] == ["g0", "g1"]
    kept = json.loads((metagit / "schedule" / "kept.json").read_text())
    assert {f"{graph}/{name}" for graph, each in kept["graphs"].items() for name in each["nodes"]} == set(PLACES)
    left = {path.suffix for path in metagit.rglob("*") if path.is_file()}
    assert left == {".json", ".jsonl", ".lock"}

    retry_all(root, started)


def retry_all(root: Path, started: dict[str, str]) -> None:
    """The reply got lost, and each agent says again what it did: nothing changes, and nobody else is let in."""
    files = {path: path.read_bytes() for path in (root / ".metagit").rglob("*") if path.is_file()}
    with serving(root) as server:
        for place, agent_id in started.items():
            graph_id, node_id = place.split("/")
            named = {"graph_id": graph_id, "node_id": node_id, "status": "running"}
            answer = server.call("task_update", **named, agent_id=agent_id)
            assert (answer["changed"], answer["node"]["agent_id"]) == (False, agent_id)
            assert server.refusal("task_update", **named, agent_id="late")["code"] == "NODE_NOT_ELIGIBLE"
        assert server.call("schedule_next")["decisions"] == []
    assert {path: path.read_bytes() for path in (root / ".metagit").rglob("*") if path.is_file()} == files


def test_two_agents_share_the_work_of_a_graph(tmp_path: Path) -> None:
    """One over MCP, one by command, each with what the other left; in the end everything is done once."""
    workspace(tmp_path, node("a"), node("b"), node("c", depends_on=["a", "b"]))
    update = ("task", "update")
    with serving(tmp_path, "--agent-id", "mcp") as server:
        assert chosen(server.call("schedule_next")) == ["a"]
        server.call("task_update", node_id="a", status="running", agent_id="mcp")
        assert chosen(command(tmp_path, "schedule", "next", "--agent-id", "cli")) == ["b"]
        command(tmp_path, *update, "b", "--status", "running", "--agent-id", "cli")
        details = server.refusal("task_update", node_id="b", status="running", agent_id="mcp")["details"]
        (reason,) = details.pop("reasons")
        assert (details, reason.partition("(")[0]) == ({"node_id": "b", "agent_id": "cli"}, "observed")
        server.call("task_update", node_id="a", status="completed")
        assert chosen(server.call("schedule_next")) == []
        command(tmp_path, *update, "b", "--status", "completed")
        assert chosen(server.call("schedule_next")) == ["c"]
        assert command(tmp_path, *update, "a", "--status", "running", "--agent-id", "cli", code=4)["code"] == (
            "NODE_NOT_ELIGIBLE"
        )
        server.call("task_update", node_id="c", status="completed")
        assert server.call("schedule_status")["counts"]["finished"] == 3


def test_two_agents_claim_and_report_and_hand_on_what_they_did(tmp_path: Path) -> None:
    """The loop that agents follow, one over MCP and one by command: each with what the other left."""
    workspace(tmp_path, node("a"), node("b"), node("c", depends_on=["a", "b"]))
    claim = ("schedule", "next", "--claim", "--agent-id", "cli")
    with serving(tmp_path) as server:
        (ours,) = server.call("schedule_next", claim=True, agent_id="mcp")["decisions"]
        (theirs,) = command(tmp_path, *claim)["decisions"]
        assert (ours["node_id"], theirs["node_id"]) == ("a", "b")
        refusal = server.refusal("work_start", node_id="b", agent_id="mcp")
        assert (refusal["code"], refusal["details"]["owner"]) == ("WORK_ALREADY_OWNED", "cli")
        done = {"summary": "The tables are there", "artifacts": ["branch a"]}
        server.call("work_report", lease_id=ours["lease"]["lease_id"], state="completed", result=done)
        assert chosen(server.call("schedule_next", claim=True, agent_id="mcp")) == []
        command(tmp_path, "work", "report", theirs["lease"]["lease_id"], "--state", "completed")
        (last,) = server.call("schedule_next", claim=True, agent_id="mcp")["decisions"]
        assert last["node_id"] == "c"
        assert [(each["node_id"], each["summary"], each["artifacts"]) for each in last["dispatch_hints"]["inputs"]] == [
            ("a", "The tables are there", ["branch a"])
        ]
        server.call("work_report", lease_id=last["lease"]["lease_id"], state="completed")
        assert server.call("schedule_next", claim=True, agent_id="mcp")["all_finished"] is True
    rows = json.loads((tmp_path / ".metagit" / "tasks" / "graphs" / "g.json").read_text())["nodes"]
    assert [(row["node_id"], row["status"]) for row in rows] == [(name, "completed") for name in "abc"]
