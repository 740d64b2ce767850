"""Servers and commands take work at once, as real processes: each node goes to exactly one, once.

The account comes from the answers, from the ledger read with plain SQL, and from the graph files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from tests import ready
from tests.interfaces.cli.fake_runs import ROOT, WAIT_S, environment
from tests.scenarios.attack import Server, record_of
from tests.scenarios.claiming import POLICY, told
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

Account = dict[str, list[str]]
# Many processes on few processors; it says only when to give up.
SLOWEST_S = 3 * WAIT_S


class Drainer:
    """An agent on the command line."""

    def __init__(self, root: Path, agent_id: str, limit: int) -> None:
        self.agent_id = agent_id
        self.process = ready.Popen(
            [sys.executable, "-m", "tests.scenarios.drainer", str(root), agent_id, str(limit)],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def got(self) -> Account:
        out, err = self.process.communicate(timeout=SLOWEST_S)
        assert (self.process.returncode, err) == (0, "")
        return {name: [self.agent_id, state] for name, state in json.loads(out)}

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=WAIT_S)


class Serving:
    """A server whose agents ask all at once, and report what they got as completed."""

    def __init__(self, server: Server, agents: list[str], limit: int) -> None:
        self.server, self.agents, self.limit = server, agents, limit
        self.account: Account = {}
        self.twice: list[str] = []

    def ready(self) -> None:
        """Wait until it has answered once, which takes long where many start at once."""
        record_of(self.server.answer(self._begin("schedule_status", detail="brief", recent=0), SLOWEST_S))

    def _begin(self, tool: str, **arguments: Any) -> int:  # noqa: ANN401 - any JSON
        return self.server.begin("tools/call", {"name": f"metagit_{tool}", "arguments": arguments})

    def drain(self) -> None:
        """Go on until nobody gets anything."""
        agents = self.agents
        while agents:
            asked = [
                self._begin("schedule_next", claim=True, agent_id=name, limit=self.limit, detail="brief")
                for name in agents
            ]
            answers = [record_of(self.server.answer(number, SLOWEST_S)) for number in asked]
            leases = [each["lease"] for answer in answers for each in answer["decisions"]]
            reports = [self._begin("work_report", lease_id=each["lease_id"], state="completed") for each in leases]
            for lease, number in zip(leases, reports, strict=True):
                name = f"{lease['graph_id']}/{lease['node_id']}"
                self.twice += [name] * (name in self.account)
                self.account[name] = [
                    lease["agent_id"],
                    record_of(self.server.answer(number, SLOWEST_S))["node_status"],
                ]
            agents = [name for name, answer in zip(agents, answers, strict=True) if answer["decisions"]]


@pytest.mark.parametrize(
    ("servers", "tasks", "commands", "graphs", "nodes"), [(4, 4, 2, 4, 250), (1, 1, 1, 1, 30), (8, 1, 8, 2, 30)]
)
def test_each_node_goes_to_one_agent_once(
    tmp_path: Path, servers: int, tasks: int, commands: int, graphs: int, nodes: int
) -> None:
    """Two to sixteen processes, and up to 1,000 nodes."""
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(tmp_path, clock_file=None)
    desk.put(POLICY, {"agent_slots": 1_000})
    for number in range(graphs):
        desk.graph(f"g{number}", *(node(f"n{each:03d}", mine=[each]) for each in range(nodes)))
    everything = {f"g{number}/n{each:03d}" for number in range(graphs) for each in range(nodes)}
    accounts, twice = raced(tmp_path, servers, tasks, commands, limit=max(1, nodes // 15))

    assert twice == []
    assert Counter(name for account in accounts for name in account) == dict.fromkeys(everything, 1)
    whole: Account = {name: each for account in accounts for name, each in account.items()}
    starts = [each["lease"] for each in told(desk, "work_started")]
    assert {f"{each['graph_id']}/{each['node_id']}": each["agent_id"] for each in starts} == {
        name: agent_id for name, (agent_id, _) in whole.items()
    }
    assert (len(starts), len({each["lease_id"] for each in starts})) == (len(everything), len(everything))
    assert len(told(desk, "work_completed")) == sum(1 for _, state in whole.values() if state == "completed")

    desk.look_after()
    for number in range(graphs):
        rows = desk.document(f"tasks/graphs/g{number}.json")["nodes"]
        assert [(row["node_id"], row["status"], row["mine"]) for row in rows] == [
            (f"n{each:03d}", {"active": "running"}.get(state, state), [each])
            for each in range(nodes)
            for _, state in [whole[f"g{number}/n{each:03d}"]]
        ]
    left = sum(1 for _, state in whole.values() if state == "active")
    assert desk.status()["counts"]["running"] == left


def raced(root: Path, servers: int, tasks: int, commands: int, limit: int) -> tuple[list[Account], list[str]]:
    """Let all take work at once; return what each got, and what one got twice."""
    with ExitStack() as stack:
        drainers = [Drainer(root, f"c{number}", limit) for number in range(commands)]
        for drainer in drainers:
            stack.callback(drainer.stop)
        serving = []
        for number in range(servers):
            server = stack.enter_context(Server(root))
            server.enter("2026-07-28")
            serving.append(Serving(server, [f"s{number}/{task}" for task in range(tasks)], limit))
        for each in serving:
            each.ready()
        for drainer in drainers:
            drainer.ready()
        threads = [Thread(target=each.drain) for each in serving]
        for drainer in drainers:
            drainer.go()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SLOWEST_S)
            assert not thread.is_alive()
        accounts = [drainer.got() for drainer in drainers]
        for each in serving:
            each.server.end()
    return [*accounts, *(each.account for each in serving)], [name for each in serving for name in each.twice]


def test_what_was_granted_just_now_is_in_the_answer_however_much_the_agent_holds(tmp_path: Path) -> None:
    """The list of what it held before is cut first: nothing is told of a node that it took and does not know of."""
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(tmp_path)
    desk.put(POLICY, {"agent_slots": 1_000})
    desk.graph("g", *(node(f"n{each:03d}") for each in range(200)))
    answers = [desk.claim("w1", limit=20) for _ in range(10)]
    assert [each["node_id"] for answer in answers for each in answer["decisions"]] == [
        f"n{each:03d}" for each in range(200)
    ]
    (cut,) = answers[-1]["omitted"]
    assert (cut["what"], cut["count"] + len(answers[-1]["held"])) == ("held", 180)
