"""What users of comparable schedulers reported about quotas, slots, preemption, in our terms (field cases, section F).

Each test has the number of its row. What a decision costs is counted in calls within one run, never in time. Row 115,
and the search of row 116, are in test_field_cases.py.
"""

from __future__ import annotations

import random
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import pytest

from metagit_mcp.domain.limits import ResourcePolicy
from metagit_mcp.domain.policy import GroupPolicy
from metagit_mcp.scheduling.cycle import plan
from metagit_mcp.scheduling.snapshot import Asker
from tests.scenarios.claiming import POLICY, given, reasons, told
from tests.scenarios.floor import Floor, many
from tests.scenarios.written import put_rows
from tests.snapshots import group, task
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.application.desk import Json

GPU: Final = frozenset({"gpu"})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    return Desk(tmp_path)


# --- quotas ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("restarts", [False, True])
def test_110_a_group_never_runs_more_than_its_quota(desk: Desk, seed: int, *, restarts: bool) -> None:
    """Whatever sorts first, whatever ends first, however wide the nodes are, and with new processes in between."""
    chance = random.Random(seed)  # noqa: S311 - an order, not a secret
    desk.put(POLICY, {"groups": {"g": {"quota": 2}}, "agent_slots": 99})
    desk.graph("g", *(node(f"n{number:02}", priority=number % 5, slots=1 + number % 2) for number in range(24)))
    desk.graph("h", *(node(f"m{number:02}") for number in range(6)))
    server, running = desk, dict[str, int]()
    seen = set()
    for _ in range(30):
        if restarts:
            server.application.close()
            server = desk.beside()
        if running and chance.random() < 0.5:
            lease_id = chance.choice(sorted(running))
            server.report(lease_id, chance.choice(["completed", "released"]))
            del running[lease_id]
        for each in server.claim(f"w{chance.randrange(4)}", limit=chance.randint(1, 4))["decisions"]:
            width = 1 + int(each["node_id"][1:]) % 2
            running[each["lease"]["lease_id"]] = width if each["graph_id"] == "g" else 0
        seen.add(sum(running.values()))
        assert max(seen) <= 2
    assert 2 in seen


def reported(desk: Desk, until: str) -> None:
    desk.report(desk.lease("w1"), "failed", rate_limited={"resource": "api", "until": until})


def paused(desk: Desk, until: str) -> None:
    desk.pause("resource", "api", until=desk.now() + timedelta(seconds=63))
    assert until


def deferred(desk: Desk, until: str) -> None:
    for name in "ab":
        desk.set_row(name, not_before=until, updated_at=desk.now().isoformat())


@pytest.mark.parametrize("gate", [reported, paused, deferred])
@pytest.mark.parametrize("sees_it_close", [False, True])
def test_112_a_gate_that_opens_is_seen_by_a_process_that_never_saw_it_close(
    desk: Desk, gate: Callable[[Desk, str], None], *, sees_it_close: bool
) -> None:
    """Nothing else happens: time alone makes the nodes eligible, with their Group's turn where it was."""
    desk.put(POLICY, {"resources": {"api": {"capacity": 9}}})
    desk.graph("g", node("a", uses={"api": 1}), node("b", uses={"api": 1}))
    gate(desk, "2026-12-01T12:01:03+00:00")
    server = desk if sees_it_close else desk.beside()
    if not sees_it_close:
        desk.application.close()
    desk.wait(62)
    assert given(server.next()) == []
    before = desk.events()
    desk.wait(1)
    assert given(server.next(limit=9)) == ["a", "b"]
    assert desk.events() == before
    assert server.taken("w2") == ["a"]


# --- what a decision costs -------------------------------------------------------------------------------------------


def calls_in(act: Callable[[], object]) -> int:
    """How many functions are called, of Python and of C."""
    counted = 0

    def count(_: object, kind: str, __: object) -> None:
        nonlocal counted
        counted += kind in {"call", "c_call"}

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
    return counted


def calls_of_starts(floor: Floor, starts: int = 40) -> int:
    """What so many starts and ends cost, once all is warm."""
    floor.serve(20)
    return calls_in(lambda: floor.serve(starts))


@pytest.mark.parametrize("limited", [1, 1_000])
def test_113_three_limits_cost_no_search(limited: int) -> None:
    """Quota, resource and exclusive key on one Group of 1,000, or on each: a decision costs at most twice as much."""
    names_of = [f"g{number:04}" for number in range(1_000)]
    free = [group(name, *(task(f"n{each}") for each in range(3))) for name in names_of]
    tight = [
        group(name, *(task(f"n{each}", uses={"api": 1}, exclusive=(f"key of {name}",)) for each in range(3)))
        for name in names_of[:limited]
    ]
    none = Floor(*free)
    three = Floor(
        *tight,
        *free[limited:],
        groups={name: GroupPolicy(quota=1) for name in names_of[:limited]},
        resources={"api": ResourcePolicy(capacity=5)},
    )
    assert calls_of_starts(three) <= 2 * calls_of_starts(none)


def test_116_10_000_nodes_that_cannot_run_cost_a_decision_nothing() -> None:
    """Gated, waiting, at a quota, for other agents, and all of them more urgent: at most twice as much."""
    ready = many("r", 200)
    stuck = [
        group("gated", *(task(f"a{number:04}", priority=9, approval="human_required") for number in range(2_500))),
        group("full", *(task(f"b{number:04}", priority=9) for number in range(2_500))),
        group("able", *(task(f"c{number:04}", priority=9, capabilities=("gpu",)) for number in range(2_500))),
        group("later", task("first", status="blocked"), *(task(f"d{number:04}", "first") for number in range(2_500))),
    ]
    alone, among = Floor(ready), Floor(ready, *stuck, groups={"full": GroupPolicy(quota=0)})
    assert (alone.ask(), among.ask()) == ("r/r0000", "r/r0000")
    assert calls_of_starts(among) <= 2 * calls_of_starts(alone)


# --- preemption ------------------------------------------------------------------------------------------------------


def work_on(desk: Desk, lease_id: str, tokens: int) -> bool:
    """Work for five minutes and say what was used so far; say whether the holder is asked to pause."""
    desk.wait(300)
    return bool(desk.report(lease_id, "running", usage={"tokens": tokens})["preempt_requested"])


def test_118_two_equal_groups_on_one_slot_ask_nobody_to_pause(desk: Desk) -> None:
    """The loop that was seen: a pauses for b, b for a, and so on."""
    desk.put(POLICY, {"slots": 1})
    for name in "ab":
        desk.graph(name, *(node(f"{name}{number}", estimated_tokens=10_000) for number in range(4)))
    served = ""
    for _ in range(8):
        answer = desk.claim("w1")
        served += answer["decisions"][0]["graph_id"]
        lease_id = answer["decisions"][0]["lease"]["lease_id"]
        for tick in range(1, 5):
            assert not work_on(desk, lease_id, 2_000 * tick)
            assert desk.taken("w2") == []
        desk.wait(300)
        desk.report(lease_id, "completed", usage={"tokens": 10_000})
    assert (served, told(desk, "preemption_requested")) == ("abababab", [])


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_118_each_arrival_asks_once_and_a_node_is_asked_so_often_as_policy_says(desk: Desk, most: int) -> None:
    """A long node of a, and short ones of b that come one by one while it runs."""
    desk.put(POLICY, {"slots": 1, "preemption": {"max_preemptions": most}})
    desk.graph("a", node("long", estimated_tokens=60_000))
    lease_id, tokens = desk.lease("w1"), 0
    asked: list[int] = []
    for arrivals in range(1, 6):
        tokens += 9_000
        work_on(desk, lease_id, tokens)
        desk.graph("b", *(node(f"b{number}") for number in range(arrivals)))
        for agent_id in ("w2", "w3", "w2"):
            assert desk.taken(agent_id) == []
        if work_on(desk, lease_id, tokens):
            desk.report(lease_id, "paused", note="as far as I came")
            assert desk.taken("w2") == [f"b{len(asked)}"]
            short = told(desk, "work_started")[-1]["lease"]["lease_id"]
            assert (desk.taken("w1"), work_on(desk, short, 1_000)) == ([], False)
            desk.report(short, "completed", usage={"tokens": 1_000})
            lease_id, tokens = desk.start("long", "w1")["lease"]["lease_id"], 0
            asked.append(arrivals)
    requests = told(desk, "preemption_requested")
    assert [(each["graph_id"], each["node_id"]) for each in requests] == [("b", f"b{number}") for number in range(most)]
    assert asked == list(range(1, most + 1))


def test_119_a_slot_that_was_asked_for_is_kept_for_whoever_it_was_asked_for(desk: Desk) -> None:
    """Somebody more urgent comes between the pause and the start: it waits, and is told for whom."""
    desk.put(POLICY, {"slots": 1, "groups": {"x": {"class": "critical"}}})
    desk.graph("v", *(node(f"v{number}", estimated_tokens=60_000) for number in range(3)))
    victim = desk.lease("w1")
    assert not work_on(desk, victim, 60_000)
    desk.graph("c", node("c"))
    assert (desk.taken("w2"), work_on(desk, victim, 60_001)) == ([], True)
    desk.graph("x", node("x", priority=1_000, requested_urgency="critical"))
    desk.report(victim, "paused", note="as far as I came")
    assert reasons(desk, "x") == ["reserved(for c)"]
    assert [desk.taken(agent_id) for agent_id in ("w3", "w4")] == [["c"], []]


# --- required and preferred ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["pool", "agent"])
def test_121_no_preference_makes_up_for_a_capability_that_is_required(desk: Desk, scope: str) -> None:
    """The agent's own warm worktree, all weight on affinity, the highest priority: it is never offered."""
    desk.put(POLICY, {"weights": {"affinity": 1_000_000}, "affinity": {"scope": scope, "require_path": False}})
    tree_of_w1 = {"repository": "p/a", "path": str(desk.root), "agent_id": "w1", "updated_at": "2026-12-01T11:00:00Z"}
    put_rows(desk.root, tree_of_w1)
    desk.graph("g", node("able", repository="p/a", priority=99, capabilities=["gpu"]), node("plain"))
    assert given(desk.next(agent_id="w1", limit=9)) == ["plain"]
    assert given(desk.next(agent_id="w1", limit=9, capabilities=["gpu"])) == ["able", "plain"]
    assert (desk.taken("w1"), desk.taken("w2"), desk.taken("w3", capabilities=["gpu"])) == (["plain"], [], ["able"])


def test_121_what_an_agent_cannot_take_gives_its_group_no_turn() -> None:
    """For those without the capability the Group is not there; for those with it, it takes turns."""
    floor = Floor(many("a", 100), many("g", 100, capabilities=("gpu",), priority=9), deadline_window=0)
    assert floor.groups(40) == "a" * 40
    able = Asker(agent_id="able", capabilities=GPU)
    assert [pick.graph_id for pick in plan(floor.queue, able, 6).picks] == ["g", "a"] * 3


def test_122_two_starts_of_one_repository_at_once_have_nothing_in_common(desk: Desk) -> None:
    """Each has a lease of its own, and each agent its own worktree; where only one may, one starts."""
    desk.graph("g", *(node(name, repository="p/a") for name in "ab"))
    trees = [{"repository": "p/a", "path": str(desk.root / name), "agent_id": name} for name in ("w1", "w2")]
    for each in trees:
        (desk.root / str(each["agent_id"])).mkdir()
    put_rows(desk.root, *trees)
    answers: list[Json] = [desk.claim(name)["decisions"][0] for name in ("w1", "w2")]
    assert [each["node_id"] for each in answers] == ["a", "b"]
    assert len({each["lease"]["lease_id"] for each in answers}) == 2
    assert [each["dispatch_hints"]["worktree"] for each in answers] == [str(desk.root / name) for name in ("w1", "w2")]


def test_122_a_lock_on_the_repository_lets_one_start(desk: Desk) -> None:
    desk.graph("g", *(node(name, repository="p/a", exclusive=["p/a"]) for name in "ab"), node("c", repository="p/a"))
    assert given(desk.next(limit=9)) == ["a", "c"]
    assert [desk.taken(name) for name in ("w1", "w2", "w3")] == [["a"], ["c"], []]
    assert reasons(desk, "b") == ["exclusive(p/a, held by a)"]
