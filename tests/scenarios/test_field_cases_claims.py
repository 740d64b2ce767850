"""What users of comparable schedulers reported of claims, leases and ownership, in our terms.

Each test has the number of its row in section A of the field cases, and tries other inputs of the same kind.
"""

from __future__ import annotations

import itertools
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import pytest

from metagit_mcp.ports.machine import Waits
from tests.scenarios.at_once import no_time
from tests.scenarios.claiming import POLICY, counts, given, held, reasons, refusal, refused
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW, Desk, Json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STATES = ("running", "checkpointed", "paused", "blocked", "completed", "failed", "released")
TERM = 900


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    return Desk(tmp_path)


class Before:
    """Lets something happen after a process looked at the workspace and before it writes."""

    def __init__(self) -> None:
        self.happens: list[Callable[[], object]] = []

    async def offload(self, blocking: Callable[[], Any]) -> Any:  # noqa: ANN401 - as an `Offload`
        while self.happens:
            self.happens.pop()()
        return blocking()


@pytest.mark.parametrize("others", [1, 2, 4])
@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_001_of_claims_that_overlap_each_gets_another_node(desk: Desk, others: int, nodes: int) -> None:
    """Row 1: read, read, write, write; the first to look is the last to write."""
    desk.graph("g", *(node(f"n{number}") for number in range(nodes)))
    before = Before()
    slow = desk.beside(waits=Waits(offload=before.offload, sleep=no_time))
    assert given(slow.next(agent_id="slow")) == ["n0"]
    taken: list[list[str]] = []

    def takes(process: Desk, agent_id: str) -> None:
        taken.append(process.taken(agent_id))

    for number in range(others):
        fast = desk.beside()
        fast.next(agent_id=f"w{number}")
        before.happens.insert(0, partial(takes, fast, f"w{number}"))
    taken.append(slow.taken("slow"))
    everything = [[f"n{number}"] for number in range(nodes)]
    assert taken == [*everything, *[[]] * (others + 1)][: others + 1]


@pytest.mark.parametrize("queue_only", [False, True])
def test_002_who_lists_and_then_claims_what_another_took_is_told_who_has_it(desk: Desk, *, queue_only: bool) -> None:
    """Row 2: both list, W1 claims a, W2 claims a."""
    desk.graph("g", node("a"), node("b"))
    one, two = desk.beside(), desk.beside()
    assert [given(each.next(limit=2, agent_id=name)) for each, name in ((one, "w1"), (two, "w2"))] == [["a", "b"]] * 2
    one.start("a", "w1", queue_only=queue_only)
    one.flush()
    files, events = desk.path("tasks/graphs/g.json").read_bytes(), desk.events()
    error = refusal(lambda: two.start("a", "w2"))
    assert (error.code, error.details["owner"], error.details["ownership_epoch"]) == ("WORK_ALREADY_OWNED", "w1", 1)
    # That W2 came in is all that is new.
    assert (desk.events(), desk.path("tasks/graphs/g.json").read_bytes()) == ([*events, "session_opened"], files)
    assert given(two.claim("w2")) == ["b"]


@pytest.mark.parametrize("names", list(itertools.permutations(["x", "y", "configured/z"])))
def test_004_the_owner_is_who_asked_and_not_who_is_configured(desk: Desk, names: tuple[str, ...]) -> None:
    """Row 4: byte-identical answers for two callers; the owner came from the configuration."""
    desk.graph("g", node("a"))
    desks = [desk.beside(agent_id="configured/z") for _ in names]
    answers = [each.claim(name) for each, name in zip(desks, names, strict=True)]
    (decision,) = answers[0]["decisions"]
    assert (decision["agent_id"], decision["lease"]["agent_id"]) == (names[0], names[0])
    assert [given(answer) for answer in answers] == [["a"], [], []]
    assert reasons(desk, "a") == [f"leased(by {names[0]}, until 2026-12-01T12:15:00Z)"]


def test_005_one_ready_node_is_demand_for_one_agent(desk: Desk) -> None:
    """Row 5: one item, three idle slots, and a session for each."""
    desk.put(POLICY, {"slots": 3, "agent_slots": 3})
    desk.graph("g", node("a"), node("b", depends_on=["a"]))
    assert given(desk.next(limit=3)) == ["a"]
    answers = [desk.beside().claim(f"w{number}", limit=3) for number in range(3)]
    assert [given(answer) for answer in answers] == [["a"], [], []]
    assert [answer["runnable_count"] for answer in answers] == [0, 0, 0]
    assert given(desk.next(limit=3)) == []


@pytest.mark.parametrize("surface", ["mcp", "cli"])
@pytest.mark.parametrize("rounds", [1, 4])
def test_007_the_work_of_a_dead_agent_is_ready_again_at_the_next_epoch(
    desk: Desk, surface: Literal["mcp", "cli"], rounds: int
) -> None:
    """Row 7: claimed by a dead agent, in progress for ever."""
    desk.graph("g", node("a"))
    for epoch in range(1, rounds + 1):
        worker = desk.beside(surface)
        (decision,) = worker.claim(f"w{epoch}", lease_seconds=60)["decisions"]
        worker.flush()
        assert decision["lease"]["ownership_epoch"] == epoch
        desk.wait(59.999)
        assert (given(desk.next()), desk.statuses()) == ([], {"a": "running"})
        desk.wait(0.001)
        assert given(desk.next()) == ["a"]
        # The file follows as soon as anybody writes.
        desk.look_after()
        assert desk.statuses() == {"a": "ready"}


@pytest.mark.parametrize("state", STATES)
def test_008_a_late_word_of_an_earlier_owner_moves_nothing(desk: Desk, state: str) -> None:
    """Row 8: an event of epoch 3 after epoch 4 is live."""
    desk.graph("g", node("a"), node("b"))
    former = []
    for epoch in range(1, 4):
        former.append(desk.lease(f"w{epoch}", lease_seconds=60))
        desk.wait(60)
    live = desk.lease("w4")
    for lease_id in former:
        assert refused(partial(desk.report, lease_id, state, note="late")) == "WORK_LEASE_EXPIRED"
    desk.flush()
    assert (held(desk, "w4"), desk.statuses()) == ([("a", live)], {"a": "running", "b": "pending"})
    assert desk.report(live, "running")["lease"]["ownership_epoch"] == 4


@pytest.mark.parametrize("status", ["ready", "pending", "running"])
@pytest.mark.parametrize("age", [-3600, 0, 3600])
def test_008_nor_does_a_file_that_somebody_wrote_back(desk: Desk, status: str, age: int) -> None:
    """Row 8, in the file: an old copy, or one that says to be newer, does not take the node from its agent."""
    desk.graph("g", node("a"))
    lease_id = desk.lease("w1")
    desk.flush()
    desk.wait(1)
    desk.set_row("a", status=status, updated_at=(NOW + timedelta(seconds=age)).isoformat(), title="renamed")
    assert given(desk.claim("w2")) == []
    desk.flush()
    assert (held(desk, "w1"), desk.row("a")["status"], desk.row("a")["title"]) == (
        [("a", lease_id)],
        "running",
        "renamed",
    )


def test_010_between_two_steps_the_owner_stays_the_owner(desk: Desk) -> None:
    """Row 10: an agent that looks idle for a moment is reaped, and its work has two owners."""
    desk.put(POLICY, {"agent_slots": 2})
    desk.graph("g", node("step1"), node("step2"), node("step3", depends_on=["step1"]))
    worker = desk.beside("cli")
    first, second = (each["lease"]["lease_id"] for each in worker.claim("w1", limit=2)["decisions"])
    worker.report(first, "completed")
    # Servers of others look after the workspace at every instant until the lease of the other step ends.
    for passed in (0, 1, TERM, 14_400 - TERM - 2):
        desk.wait(passed)
        for other in (desk, desk.beside()):
            other.look_after()
        assert reasons(desk, "step2") == ["leased(by w1, until 2026-12-01T16:00:00Z)"]
        assert "step2" not in given(desk.next(agent_id="w2", limit=3))
    worker.report(second, "running")
    desk.wait(10)
    assert held(desk, "w1") == [("step2", second)]


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("completed", {}),
        ("failed", {"note": "no"}),
        ("released", {}),
        ("blocked", {"note": "key"}),
        ("paused", {"note": "later"}),
    ],
)
@pytest.mark.parametrize("limit", [{"slots": 1}, {"groups": {"g": {"quota": 1}}}])
def test_011_each_end_of_work_frees_its_slot_at_once(desk: Desk, state: str, said: Json, limit: Json) -> None:
    """Row 11: at capacity 1 the slot of a finished session is never freed."""
    desk.put(POLICY, limit)
    desk.graph("g", node("a", priority=9), node("b", priority=5), node("c"))
    lease_id = desk.lease("w1")
    assert given(desk.claim("w2")) == []
    desk.report(lease_id, state, **said)
    assert given(desk.claim("w2")) == ["a" if state == "released" else "b"]


def test_013_attempts_are_counted_on_the_node_and_it_is_parked(desk: Desk) -> None:
    """Row 13: the counter of failures lives on the session that is thrown away."""
    desk.put(POLICY, {"retries": {"max_attempts": 5, "backoff_seconds": 60, "max_backoff_seconds": 300}})
    desk.graph("g", node("a", priority=9), node("b"), node("c"))
    waits = []
    for number in range(5):
        worker = desk.beside()
        lease_id = worker.lease(f"w{number}")
        answer = worker.report(lease_id, "failed", note=f"try {number}")
        waits.append((answer["node_status"], answer.get("retry_at")))
        # Other work flows meanwhile.
        other = worker.lease("steady")
        worker.report(other, "released")
        desk.wait([60, 120, 240, 300, 0][number])
    assert waits == [
        ("open", "2026-12-01T12:01:00Z"),
        ("open", "2026-12-01T12:03:00Z"),
        ("open", "2026-12-01T12:07:00Z"),
        ("open", "2026-12-01T12:12:00Z"),
        ("parked", None),
    ]
    desk.look_after()
    assert (desk.row("a")["status"], desk.row("a")["blocker_reason"]) == ("blocked", "failed: try 4")
    (waiting,) = desk.status()["needs_person"]
    assert (waiting["node_id"], waiting["reason"], waiting["command"]) == (
        "a",
        "blocked(failed)",
        "metagit-mcp work retry a --graph-id g",
    )
    desk.wait(86_400)
    assert given(desk.next()) == ["b"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3)))[1:])
def test_014_another_order_of_the_same_input_changes_nothing(desk: Desk, order: tuple[int, ...]) -> None:
    """Row 14: a shifted order pairs every session anew, at every tick."""
    nodes = [node("a", priority=1), node("b", priority=1), node("c", depends_on=["a"])]
    for graph_id in ("g", "h"):
        desk.graph(graph_id, *nodes)
    lease_id = desk.lease("w1")
    desk.flush()
    before = desk.next(limit=9, agent_id="w2")
    rows, events = desk.lines("schedule/decisions.jsonl"), desk.events()
    for graph_id in ("h", "g"):
        document = desk.document(f"tasks/graphs/{graph_id}.json")
        desk.put(f"tasks/graphs/{graph_id}.json", {**document, "nodes": [document["nodes"][place] for place in order]})
    for other in (desk, desk.beside()):
        after = other.next(limit=9, agent_id="w2")
        assert [(each["graph_id"], each["node_id"]) for each in after["decisions"]] == [
            (each["graph_id"], each["node_id"]) for each in before["decisions"]
        ]
        other.look_after()
    assert held(desk, "w1") == [("a", lease_id)]
    moved = {"scheduling_paused", "scheduling_resumed"}
    assert [kind for kind in desk.events() if kind not in moved] == events
    assert {row["decision_id"] for row in rows} <= {
        row["decision_id"] for row in desk.lines("schedule/decisions.jsonl")
    }


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("agent_id", [None, "w1"])
def test_016_the_former_lease_of_the_same_agent_is_fenced_too(desk: Desk, state: str, agent_id: str | None) -> None:
    """Row 16: the owner's name is the fence, and a reaped attempt passes it for its own replacement."""
    desk.graph("g", node("a"))
    first = desk.lease("w1", lease_seconds=60)
    desk.wait(61)
    second = desk.lease("w1")
    late = {"note": "late", "agent_id": agent_id}
    assert refused(lambda: desk.report(first, state, **late)) == "WORK_LEASE_EXPIRED"
    assert held(desk, "w1") == [("a", second)]
    assert desk.report(second, "completed")["node_status"] == "completed"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("late_by", [0, 0.001, 1, 86_400])
def test_017_a_lease_that_ran_out_is_good_for_nothing(desk: Desk, state: str, late_by: float) -> None:
    """Row 17: an expired lease can still be renewed, completed, failed."""
    desk.graph("g", node("a"))
    lease_id = desk.lease("w1", lease_seconds=60)
    desk.wait(60 + late_by)
    error = refusal(lambda: desk.beside().report(lease_id, state, note="late"))
    assert (error.code, error.details["state"], error.details["closure"]) == ("WORK_LEASE_EXPIRED", "open", "expired")
    assert given(desk.claim("w2")) == ["a"]


def test_017_and_one_millisecond_earlier_it_is_good(desk: Desk) -> None:
    desk.graph("g", node("a"))
    lease_id = desk.lease("w1", lease_seconds=60)
    desk.wait(59.999)
    assert desk.report(lease_id, "completed")["node_status"] == "completed"


@pytest.mark.parametrize("status", ["completed", "cancelled", "blocked", "ready", "running"])
def test_019_without_its_lease_no_status_of_leased_work_is_set(desk: Desk, status: str) -> None:
    """Row 19: what ends work needs the lease; what describes it does not."""
    desk.graph("g", node("a"), node("b"))
    lease_id = desk.lease("w1")
    desk.flush()
    reason = {"blocker_reason": "no"} if status == "blocked" else {}
    code = refused(lambda: desk.update("a", status=status, **reason))
    assert (code, held(desk, "w1")) == ("WORK_ALREADY_OWNED", [("a", lease_id)])
    answer = desk.update("a", priority=7, title="Better said")
    assert (answer["changed"], answer["node"]["priority"]) == (True, 7)
    desk.flush()
    assert (held(desk, "w1"), desk.row("a")["status"]) == ([("a", lease_id)], "running")
    assert desk.report(lease_id, "completed")["node_status"] == "completed"


def test_019_a_report_names_its_lease(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.lease("w1")
    error = refusal(lambda: desk.report("", "completed"))
    assert (error.code, error.details["field"]) == ("INVALID_INPUT", "lease_id")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("lease_id", ["a", "L-AAAAAAAAAAAA", "L-", "none", "g/a"])
def test_020_a_report_before_the_claim_names_the_call_to_make(desk: Desk, state: str, lease_id: str) -> None:
    """Row 20: a heartbeat on an item that nobody claimed fails, and does not say why."""
    desk.graph("g", node("a"))
    error = refusal(lambda: desk.report(lease_id, state, note="alive"))
    assert (error.code, "metagit_schedule_next with claim=true" in str(error.hint)) == ("LEASE_NOT_FOUND", True)
    assert given(desk.claim("w1")) == ["a"]


@pytest.mark.parametrize(
    ("policy", "fields"),
    [
        ({"slots": 1}, {}),
        ({}, {"exclusive": ["series"]}),
        ({"resources": {"series": {"capacity": 1}}}, {"uses": {"series": 1}}),
        ({}, {"repository": "p/api", "touches": ["src/**"]}),
        ({"groups": {"g": {"quota": 1}}}, {}),
    ],
)
def test_022_a_hung_run_holds_its_series_no_longer_than_its_lease(desk: Desk, policy: Json, fields: Json) -> None:
    """Row 22: one hung run blocks every later slot for ever."""
    desk.put(POLICY, policy)
    desk.graph("g", node("run1", priority=9, **fields), node("run2", **fields))
    desk.lease("w1", lease_seconds=60)
    assert given(desk.claim("w2")) == []
    desk.wait(60)
    # Its agent had it; somebody else gets the next one only while the hung one is with nobody.
    assert given(desk.claim("w2")) == ["run1"]
    desk.report(held(desk, "w2")[0][1], "completed")
    assert given(desk.claim("w2")) == ["run2"]
    assert counts(desk.next())["finished"] == 1
