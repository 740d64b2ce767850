"""What happens around a server while it runs: its folder moves, links change, clocks jump, thousands of calls."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
from threading import Event
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.attack import ALL_TOOLS, Json, Run, Server, graphs_of, offered, run
from tests.unit.adapters.reading import AT, node, put, put_graph

if TYPE_CHECKING:
    from pathlib import Path

WATCHES = ("auto", "stat")
CALLS: list[tuple[str, Json]] = [
    ("schedule_next", {}),
    ("schedule_next", {"preview": True}),
    ("schedule_status", {}),
    ("schedule_policy", {}),
    ("schedule_policy", {"action": "set", "priority": 3}),
    ("task_plan", {"title": "t", "nodes": [{"title": "x"}]}),
    ("task_update", {"node_id": "a", "priority": 1}),
]


@pytest.fixture(params=WATCHES)
def watch(request: pytest.FixtureRequest) -> dict[str, str]:
    return {"METAGIT_WATCH": str(request.param)}


def codes(server: Server) -> set[str]:
    return {str(server.ask(tool, **arguments).get("code")) for tool, arguments in CALLS}


def test_a_workspace_that_moves_is_missed_and_never_made_anew(tmp_path: Path, watch: dict[str, str]) -> None:
    root, elsewhere = tmp_path / "w", tmp_path / "elsewhere"
    put_graph(graphs_of(root), "g", node("a"))
    with Server(root, env=watch) as server:
        server.enter("2026-07-28")
        assert offered(server.ask("schedule_next")) == ["a"]
        root.rename(elsewhere)
        assert codes(server) == {"WORKSPACE_NOT_FOUND"}
        assert not root.exists()
        put_graph(graphs_of(elsewhere), "h", node("z", priority=9))
        elsewhere.rename(root)
        assert offered(server.ask("schedule_next", preview=True)) == ["z"]
        assert offered(server.ask("schedule_next", graph_id="g")) == ["a"]
        shutil.rmtree(root)
        assert codes(server) == {"WORKSPACE_NOT_FOUND"}
        assert not root.exists()
        server.end()


def test_folders_may_come_late_and_go(tmp_path: Path, watch: dict[str, str]) -> None:
    (tmp_path / ".metagit.yml").write_text("name: w\nkind: umbrella\n")
    with Server(tmp_path, env=watch) as server:
        server.enter("2026-07-28")
        assert offered(server.ask("schedule_next", preview=True)) == []
        assert sorted(path.name for path in tmp_path.iterdir()) == [".metagit.yml"]
        put_graph(graphs_of(tmp_path), "g", node("a", repository="p/r"))
        assert offered(server.ask("schedule_next", preview=True)) == ["a"]
        put(tmp_path / ".metagit/merges/m.json", {"repository": "p/r", "status": "queued"})
        assert server.ask("schedule_status")["merge_pressure"][0]["depth"] == 1
        put(tmp_path / ".metagit/schedule/policy.json", {"weights": {"priority": 7.0}})
        assert server.ask("schedule_policy")["policy"]["weights"]["priority"] == 7.0
        shutil.rmtree(tmp_path / ".metagit")
        assert offered(server.ask("schedule_next", preview=True)) == []
        assert server.ask("schedule_policy")["policy"]["weights"]["priority"] == 1.0
        server.end()


def test_a_folder_that_becomes_a_link_out_of_the_tree_is_left_alone(tmp_path: Path, watch: dict[str, str]) -> None:
    root, outside = tmp_path / "w", tmp_path / "outside"
    outside.mkdir()
    put_graph(graphs_of(root), "g", node("a"))
    with Server(root, env=watch) as server:
        server.enter("2026-07-28")
        assert offered(server.ask("schedule_next")) == ["a"]
        for folder in (".metagit", ".metagit/tasks", ".metagit/tasks/graphs", ".metagit/schedule", ".metagit/events"):
            path = root / folder
            shutil.rmtree(root / ".metagit")
            put_graph(graphs_of(root), "g", node("a"))
            (root / ".metagit/schedule").mkdir()
            shutil.rmtree(path, ignore_errors=True)
            path.symlink_to(outside)
            for tool, arguments in CALLS:
                assert server.ask(tool, **arguments).get("code") != "INTERNAL_ERROR"
            assert list(outside.rglob("*")) == [], folder
            path.unlink()
            path.mkdir()
        server.end()


def test_a_link_to_another_place_in_the_tree_is_as_good_as_the_place(tmp_path: Path) -> None:
    put_graph(tmp_path / "state/tasks/graphs", "g", node("a"))
    (tmp_path / ".metagit").symlink_to("state")
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    for root in (tmp_path, link):
        assert offered(run(root, "schedule", "next").record) == ["a"]
        assert run(root, "task", "update", "a", "--priority", "2").record["node"]["priority"] == 2
        assert run(root, "schedule", "policy", "set", "--priority", "2").code == 0
    status = [run(root, "schedule", "status").record for root in (tmp_path, link)]
    assert [each["workspace"]["path"] for each in status] == [str(tmp_path.resolve())] * 2
    assert status[0]["state_version"] == status[1]["state_version"]


# --- time --------------------------------------------------------------------------------------------------------

INSTANTS = ("0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2026-11-29T12:00:00+14:00", "9999-12-31T23:59:59Z")
NO_INSTANTS = ("9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "2026-11-29T12:00:00", "now", "1e9")


@pytest.mark.parametrize("now", INSTANTS)
def test_at_any_time_there_is_an_answer(tmp_path: Path, now: str) -> None:
    times = {"early": "0001-01-01T00:00:00+14:00", "late": "9999-12-31T23:59:59-12:00", "none": "2026-11-29T12:00:00"}
    nodes = [
        node(f"{name}-{field}", **{field: at}) for name, at in times.items() for field in ("deadline", "not_before")
    ]
    put_graph(graphs_of(tmp_path), "g", node("a", deadline="2026-11-30T00:00:00+05:45"), *nodes)
    rows = [{"repository": "p/r", "path": str(tmp_path), "status": "active", "updated_at": at} for at in times.values()]
    put(tmp_path / ".metagit/worktrees/worktrees.json", {"worktrees": rows})
    put(tmp_path / ".metagit/schedule/policy.json", {"affinity": {"max_age_seconds": 1_000_000_000}})
    with Server(tmp_path, env={"METAGIT_MCP_CLOCK": now, "TZ": "Asia/Kathmandu"}) as server:
        server.enter("2026-07-28")
        assert offered(server.ask("schedule_next", limit=100)) == ["a"]
        assert server.ask("schedule_status")["counts"]["invalid"] == 6
        assert server.ask("task_update", node_id="a", status="running")["node"]["status"] == "running"
        assert server.ask("schedule_policy", action="set", cost=0)["changed"] is True
        server.end()


@pytest.mark.parametrize("now", NO_INSTANTS)
def test_a_clock_that_shows_no_instant_is_refused(tmp_path: Path, now: str) -> None:
    put_graph(graphs_of(tmp_path), "g", node("a"))
    end = run(tmp_path, "schedule", "next", env={"METAGIT_MCP_CLOCK": now})
    assert (end.refusal, end.record["details"]["field"]) == ((2, "INVALID_INPUT"), "METAGIT_MCP_CLOCK")


def test_the_same_moment_gives_the_same_answer_in_every_zone(tmp_path: Path) -> None:
    put_graph(graphs_of(tmp_path), "g", node("a", not_before="2026-11-29T13:00:00+05:45"), node("b", updated_at=AT))
    answers = []
    for zone in ("UTC", "Asia/Kathmandu", "America/St_Johns", "XYZ-99", "bad/zone"):
        same = {"METAGIT_MCP_CLOCK": "2026-11-29T07:14:59Z", "METAGIT_MCP_IDS": "1", "TZ": zone}
        answers.append(run(tmp_path, "schedule", "next", "--limit", "9", "--preview", env=same).out)
    assert offered(json.loads(answers[0])) == ["b"]
    assert answers == answers[:1] * 5


# --- long and hard use -------------------------------------------------------------------------------------------


def size_of(pid: int) -> tuple[int, int]:
    """Resident kilobytes and open descriptors."""
    with open(f"/proc/{pid}/status") as status:  # noqa: PTH123 - a file of the kernel
        (resident,) = [int(line.split()[1]) for line in status if line.startswith("VmRSS:")]
    # A duty of the server has a file open for a moment.
    looks = [len(os.listdir(f"/proc/{pid}/fd")) for _ in range(20) if not Event().wait(0.02)]  # noqa: PTH208 - as above
    return resident, min(looks)


def test_thousands_of_calls_do_not_grow_the_server(tmp_path: Path) -> None:
    put_graph(graphs_of(tmp_path), "g", *(node(f"n{number}") for number in range(20)))
    with Server(tmp_path) as server:
        server.enter("2026-07-28")

        def use(calls: int) -> tuple[int, int]:
            for number in range(calls // 10):
                name = f"n{number % 20}"
                server.ask("task_update", node_id=name, title=f"title {number}")
                for _ in range(3):
                    server.ask("schedule_next", preview=True, agent_id=f"agent-{number}")
                    server.ask("schedule_status", node_id=name)
                    server.ask("schedule_status", node_id=f"lost-{number}")
            return size_of(server.process.pid)

        before, after = use(1_000), use(4_000)
        assert after[1] == before[1]
        assert after[0] - before[0] < 4_000
        server.end()


def test_a_server_with_30_descriptors_answers_all(tmp_path: Path) -> None:
    put_graph(graphs_of(tmp_path), "g", *(node(f"n{number}") for number in range(9)))
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines: list[Json] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    for number in range(1, 200):
        tool, arguments = CALLS[number % len(CALLS)]
        params = {"name": f"metagit_{tool}", "arguments": {**arguments, **unique(tool, number)}}
        lines.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    end = Run(tmp_path, "serve", *ALL_TOOLS, text=text, limits={resource.RLIMIT_NOFILE: 30}).ended()
    answers = [json.loads(line) for line in end.out.splitlines()]
    assert (end.code, end.err, len(answers)) == (0, b"", 200)
    # A node of this name is in many graphs by now.
    refused = {each["result"]["content"][0]["text"] for each in answers if each["result"].get("isError")}
    assert refused == set()


def unique(tool: str, number: int) -> Json:
    if tool == "task_plan":
        return {"title": f"t {number}"}
    return {"node_id": f"n{number % 9}"} if tool == "task_update" else {}


def test_a_host_that_stops_reading_does_not_keep_the_server_alive(tmp_path: Path) -> None:
    put_graph(graphs_of(tmp_path), "g", *(node(f"n{number}", title="t" * 200) for number in range(100)))
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        for _ in range(200):
            server.begin("tools/call", {"name": "metagit_schedule_next", "arguments": {"limit": 100, "preview": True}})
        server.await_output()
        assert (server.stop(signal.SIGTERM), server.stderr) == (0, "")
