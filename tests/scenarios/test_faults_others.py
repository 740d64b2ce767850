"""Files and policy change under running work: other programs, and people, do what they like with them."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import pytest

from metagit_mcp.ports.machine import Waits
from tests.scenarios.at_once import no_time
from tests.scenarios.attack import Server
from tests.scenarios.claiming import POLICY, counts, given, held, reasons, refused, told
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW, Desk, Json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GRAPH = "tasks/graphs/g.json"
Surface = Literal["mcp", "cli"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(tmp_path)
    desk.graph("g", node("a", priority=9), node("b"), node("c", depends_on=["a"]))
    return desk


def at(seconds: float) -> str:
    """An instant as metagit writes it, so many seconds after the beginning."""
    return (NOW + timedelta(seconds=seconds)).isoformat()


# --- a node changes while it is leased -------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["cancelled", "completed"])
def test_finished_in_its_file_ends_its_lease(desk: Desk, status: str) -> None:
    lease_id = desk.lease("w1")
    desk.flush()
    desk.wait(5)
    desk.set_row("a", status=status, updated_at=at(5))
    assert given(desk.beside().claim("w2")) == ["b"]
    assert given(desk.next(limit=5)) == (["c"] if status == "completed" else [])
    late = lambda: desk.report(lease_id, "completed", result={"summary": "done"})  # noqa: E731 - said twice
    assert (refused(late), refused(late)) == ("WORK_STALE_OWNERSHIP",) * 2
    assert (held(desk, "w1"), desk.row("a")["status"]) == ([], status)
    desk.look_after()
    assert (desk.row("a")["status"], desk.row("a")["updated_at"]) == (status, at(5))
    # The late result changed nothing; it is kept.
    assert [each["lease_id"] for each in told(desk, "evidence_kept")] == [lease_id]


def test_blocked_in_its_file_ends_its_lease_too(desk: Desk) -> None:
    lease_id = desk.lease("w1")
    desk.flush()
    desk.wait(5)
    desk.set_row("a", status="blocked", blocker_reason="Wrong design", updated_at=at(5))
    assert refused(lambda: desk.report(lease_id, "running")) == "WORK_STALE_OWNERSHIP"
    assert reasons(desk, "a") == ["blocked"]
    desk.wait(5)
    desk.set_row("a", status="ready", blocker_reason=None, updated_at=at(10))
    assert desk.taken("w2") == ["a"]


@pytest.mark.parametrize("fields", [{"priority": -9}, {"priority": 10**6}, {"title": "New"}, {"estimated_tokens": 7}])
def test_another_description_leaves_the_lease(desk: Desk, fields: dict[str, Any]) -> None:
    lease_id = desk.lease("w1")
    desk.flush()
    desk.set_row("a", **fields, updated_at=at(1))
    desk.look_after()
    assert held(desk, "w1") == [("a", lease_id)]
    assert {name: desk.row("a")[name] for name in fields} == fields
    assert desk.report(lease_id, "completed")["node_status"] == "completed"
    desk.flush()
    assert {name: desk.row("a")[name] for name in ("status", *fields)} == {"status": "completed", **fields}


@pytest.mark.parametrize("deps", [["b"], ["b", "missing"], ["c"], ["a"]])
def test_a_new_dependency_holds_the_next_start_and_not_this_work(desk: Desk, deps: list[str]) -> None:
    """Even one that closes a circle: running work goes on, and may be finished."""
    lease_id = desk.lease("w1")
    desk.flush()
    desk.set_row("a", depends_on=deps, updated_at=at(1))
    assert desk.report(lease_id, "checkpointed", note="half")["lease"]["lease_id"] == lease_id
    desk.report(lease_id, "released")
    desk.flush()
    assert "a" not in given(desk.next(limit=5))
    assert any(text.startswith("not_ready(") for text in reasons(desk, "a"))
    desk.set_row("a", depends_on=[], updated_at=at(2))
    assert desk.taken("w1", limit=1) == ["b"]
    assert desk.taken("w2") == ["a"]


@pytest.mark.parametrize("fields", [{"approval": "human_required"}, {"risk": "destructive"}, {"slots": 99}])
def test_a_new_gate_holds_the_next_start_and_not_this_work(desk: Desk, fields: dict[str, Any]) -> None:
    desk.put(POLICY, {"slots": 2})
    lease_id = desk.lease("w1")
    desk.flush()
    desk.set_row("a", **fields, updated_at=at(1))
    assert desk.report(lease_id, "running")["lease"]["lease_id"] == lease_id
    desk.report(lease_id, "failed", note="no")
    desk.wait(60)
    assert "a" not in given(desk.next(limit=5))


def test_a_leased_node_that_vanishes_from_its_file_can_still_be_reported(desk: Desk) -> None:
    lease_id = desk.lease("w1")
    desk.flush()
    desk.graph("g", node("b"))
    assert desk.report(lease_id, "checkpointed", note="half")["lease"]["lease_id"] == lease_id
    assert given(desk.claim("w2")) == ["b"]
    assert desk.report(lease_id, "completed")["node_status"] == "completed"
    desk.look_after()
    assert desk.statuses() == {"b": "running"}


def test_a_graph_that_cannot_be_read_stops_no_report(desk: Desk) -> None:
    """Reports need neither policy nor graph file; the file follows when it is mended."""
    lease_id = desk.lease("w1")
    desk.flush()
    whole = desk.path(GRAPH).read_text()
    desk.path(GRAPH).write_text(whole[:-40])
    desk.put(POLICY, {"slots": -1})
    assert desk.report(lease_id, "running")["lease"]["lease_id"] == lease_id
    assert desk.report(lease_id, "completed")["node_status"] == "completed"
    desk.look_after()
    desk.path(GRAPH).write_text(whole)
    desk.path(POLICY).unlink()
    desk.look_after()
    assert desk.statuses() == {"a": "completed", "b": "pending", "c": "pending"}


# --- policy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ({"slots": 1}, "no_slot"),
        ({"groups": {"g": {"quota": 1}}}, "group_quota"),
        ({"groups": {"g": {"quota": 0}}}, "never_fits"),
        ({"agents": {"w*": {"slots": 0}}}, "agent_slots"),
        ({"resources": {"db": {"capacity": 0}}}, "resource_busy"),
        ({"agents": {"w9": {"capabilities": []}}, "slots": 1}, "no_slot"),
    ],
)
def test_a_tighter_policy_revokes_nothing_and_starts_nothing(desk: Desk, policy: Json, reason: str) -> None:
    uses = {"uses": {"db": 1}}
    desk.put(POLICY, {"resources": {"db": {"capacity": 9}}})
    desk.graph("g", *(node(name, **uses) for name in "abcd"))
    leases = {name: desk.lease(name) for name in ("w1", "w2")}
    desk.put(POLICY, {"resources": {"db": {"capacity": 9}}, **policy})
    answer = desk.beside().claim("w9")
    assert (given(answer), reason in counts(answer)) == ([], True)
    for name, lease_id in leases.items():
        assert desk.report(lease_id, "running", agent_id=name)["lease"]["lease_id"] == lease_id
    # One ends; that does not make room yet, where one is still as many as there may be.
    assert desk.report(leases["w1"], "completed")["node_status"] == "completed"
    assert given(desk.claim("w9")) == []
    assert held(desk, "w2") == [("b", leases["w2"])]


def test_quota_0_holds_back_and_a_quota_lets_go_again(desk: Desk) -> None:
    desk.put(POLICY, {"groups": {"g": {"quota": 0}}})
    desk.graph("h", node("z", priority=-5))
    assert desk.taken("w1") == ["z"]
    answer = desk.claim("w2")
    assert (given(answer), answer["all_finished"]) == ([], False)
    assert refused(lambda: desk.start("a", "w2")) in {"CAPACITY_EXCEEDED", "NODE_NOT_ELIGIBLE"}
    desk.put(POLICY, {"groups": {"g": {"quota": 1}}})
    assert desk.taken("w2") == ["a"]
    assert desk.taken("w3") == []


@pytest.mark.parametrize("surface", ["mcp", "cli"])
def test_an_agent_that_never_reports_holds_its_node_no_longer_than_its_lease(desk: Desk, surface: Surface) -> None:
    """Its server renews as long as the host calls at all, and then the lease runs out by itself."""
    silent = desk.beside(surface)
    lease_id = silent.lease("silent")
    # As a server notes each call of its host: this was the last one.
    silent.application.keeping.note_call()
    terms = 0
    while given(desk.claim("w2", graph_id="g", limit=1)) != ["a"]:
        for other in desk.claim("w2")["held"]:
            desk.report(other["lease_id"], "released")
        desk.wait(450)
        if surface == "mcp":
            silent.look_after()
        terms += 1
        assert terms < 60
        # What it gave back is not offered to it while there is another.
        desk.graph("g", node("a", priority=9))
    # idle_seconds and one term, or unattended_seconds.
    assert terms * 450 == {"mcp": 7_200 + 900, "cli": 14_400}[surface]
    assert refused(lambda: silent.report(lease_id, "completed")) == "WORK_LEASE_EXPIRED"


# --- files of other programs -----------------------------------------------------------------------------------------


class During:
    """Lets another program write while a claim is on its way: before it, and before its file is brought in step."""

    def __init__(self, act: Callable[[int], None]) -> None:
        self.act, self.calls = act, 0

    async def offload(self, blocking: Callable[[], Any]) -> Any:  # noqa: ANN401 - as an `Offload`
        self.act(self.calls)
        self.calls += 1
        return blocking()


@pytest.mark.parametrize("surface", ["mcp", "cli"])
def test_a_graph_file_rewritten_during_claims_loses_nothing_of_either(desk: Desk, surface: Surface) -> None:
    """The other program reads, waits, and writes all of it back, with a change of its own each time."""
    kept = {"document": desk.document(GRAPH)}

    def rewrite(number: int) -> None:
        document = kept["document"]
        document["nodes"][1]["title"] = f"title {number}"
        document["nodes"][1]["updated_at"] = at(number / 1000)
        desk.put(GRAPH, document)
        if number % 3 == 0:
            kept["document"] = desk.document(GRAPH)

    worker = desk.beside(surface, Waits(offload=During(rewrite).offload, sleep=no_time))
    lease_id = worker.lease("w1")
    worker.flush()
    assert given(worker.claim("w2")) == ["b"]
    worker.report(lease_id, "completed")
    desk.wait(1)
    for _ in range(2):
        desk.look_after()
    assert desk.statuses() == {"a": "completed", "b": "running", "c": "pending"}
    assert desk.row("b")["title"].startswith("title ")
    assert [len(told(desk, kind)) for kind in ("work_started", "work_completed")] == [2, 1]
    assert [kind for kind in desk.events() if kind in {"seen_open", "seen_finished"}] == []


@pytest.mark.parametrize("how", ["completed", "blocked", "running", "released"])
def test_an_older_copy_after_our_write_back_is_projected_again(desk: Desk, how: str) -> None:
    before = desk.path(GRAPH).read_bytes()
    lease_id = desk.lease("w1")
    desk.flush()
    running = desk.path(GRAPH).read_bytes()
    desk.wait(1)
    desk.report(lease_id, how, note="why")
    desk.flush()
    now, events = desk.document(GRAPH), desk.events()
    for copy in (before, running, before):
        desk.path(GRAPH).write_bytes(copy)
        other = desk.beside()
        # Who looks now is told what counts, and not what the copy says.
        assert ("a" in given(other.next(limit=5))) is (how == "released")
        desk.look_after()
        after = desk.document(GRAPH)
        # Open work is not written anew where the copy says so too: pending and ready are one.
        is_open = how == "released" and copy is before
        assert after["nodes"][0] == (json.loads(before) if is_open else now)["nodes"][0]
    assert desk.events() == events


@pytest.mark.parametrize("updated_at", ["", "yesterday", "2026-12-01T12:00:09", "9999-12-31T23:59:59+00:00", None])
def test_a_row_without_a_time_that_counts_is_no_act(desk: Desk, updated_at: str | None) -> None:
    """And one from the end of time is one act, and not one after the other."""
    lease_id = desk.lease("w1")
    desk.report(lease_id, "completed")
    desk.look_after()
    document = desk.document(GRAPH)
    row = {**document["nodes"][0], "status": "running", "updated_at": updated_at}
    if updated_at is None:
        del row["updated_at"]
    desk.put(GRAPH, {**document, "nodes": [row, *document["nodes"][1:]]})
    for _ in range(3):
        desk.look_after()
        desk.beside().claim("w2")
    seen = [kind for kind in desk.events() if kind.startswith("seen_")]
    assert len(seen) == (1 if updated_at and updated_at.startswith("9999") else 0)


def test_a_program_that_rewrites_all_the_time_does_not_stop_a_server(desk: Desk) -> None:
    """A real server against a thread that writes the graph anew as fast as it can, always from its own copy."""
    desk.put(POLICY, {"agent_slots": 20})
    desk.graph("g", *(node(f"n{number:02d}") for number in range(20)))
    copy = desk.document(GRAPH)
    stopped = threading.Event()

    def rewrite() -> None:
        while not stopped.is_set():
            temp = desk.path("tasks/graphs/.rewritten")
            temp.write_text(json.dumps(copy))
            temp.replace(desk.path(GRAPH))

    writer = threading.Thread(target=rewrite)
    with Server(desk.root, env={"METAGIT_MCP_CLOCK": f"@{desk.clock}"}) as server:
        server.enter("2026-07-28")
        server.ask("schedule_status")
        writer.start()
        try:
            done = []
            for _ in range(20):
                (decision,) = server.ask("schedule_next", claim=True)["decisions"]
                lease_id = decision["lease"]["lease_id"]
                assert server.ask("work_report", lease_id=lease_id, state="completed")["node_status"] == "completed"
                done.append(decision["node_id"])
        finally:
            stopped.set()
            writer.join(20)
        assert done == [f"n{number:02d}" for number in range(20)]
        server.end()
    desk.look_after()
    assert set(desk.statuses().values()) == {"completed"}
    assert [len(told(desk, kind)) for kind in ("work_started", "work_completed")] == [20, 20]
