"""What users of comparable schedulers reported about starvation and fairness, in our terms (field cases, section E).

Each test has the number of its row. Row 107 asks for the greater of two shares where ours have one: a node's cost is
its slots times its tokens, so whoever takes much of the one pays for it in the other (scheduling.md §1).
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest

from metagit_mcp.domain.policy import GroupPolicy
from metagit_mcp.domain.shares import LCM
from tests.scenarios.claiming import POLICY, counts, given, told
from tests.scenarios.floor import Floor, many, shares
from tests.scenarios.written import put_merges
from tests.snapshots import group, task
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.application.desk import Json

NOTHING: Final = dict.fromkeys(("priority", "dependency", "affinity", "cost", "urgency", "deadline"), 0)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    return Desk(tmp_path)


# --- who cannot start takes no place ---------------------------------------------------------------------------------


def test_088_a_group_at_its_quota_hides_nobody_behind_its_1_000_nodes(desk: Desk) -> None:
    desk.put(POLICY, {"groups": {"a": {"quota": 1}, "b": {"quota": 20}}, "slots": 32, "agent_slots": 99})
    desk.graph("a", *(node(f"a{number:04}", priority=9) for number in range(1_001)))
    assert desk.taken() == ["a0000"]
    desk.graph("b", *(node(f"b{number}") for number in range(5)))
    assert given(desk.next(limit=9)) == [f"b{number}" for number in range(5)]
    for number in range(5):
        assert desk.taken() == [f"b{number}"]
    answer = desk.claim()
    assert (given(answer), counts(answer)) == ([], {"group_quota": 1_000, "leased": 6})


@pytest.mark.parametrize("window", [0, 8, 1_000_000])
@pytest.mark.parametrize("limit", [1, 2, 100])
def test_089_groups_at_their_quota_are_no_candidates_of_any_window(window: int, limit: int) -> None:
    """The picks among the others are the same as if they were not there."""
    others = [many("b", 9, priority=1), many("c", 9, estimated_tokens=3_000)]
    full = [many(name, 50, priority=100) for name in "xyz"]
    rules = {"deadline_window": window, "class_window": window}
    floor = Floor(*others, *full, groups={name: GroupPolicy(quota=1) for name in "xyz"}, **rules)
    assert sorted(each[0] for each in (floor.ask() for _ in range(3))) == ["x", "y", "z"]
    assert floor.advice(limit) == Floor(*others, **rules).advice(limit)
    assert floor.serve(18) == Floor(*others, **rules).serve(18)


# --- everybody in turn -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("starts", [1, 2, 3, 4, 5, 7])
def test_091_none_of_6_equal_groups_is_deferred_at_every_tick(starts: int) -> None:
    """With 4 starts a tick each Group starts within 2 ticks; with any number it is one start in 6."""
    floor = Floor(*(many(name) for name in "abcdef"))
    assert floor.groups(starts * 12) == ("abcdef" * 14)[: starts * 12]


def test_092_whichever_merge_ends_first_the_pressure_falls_by_one(desk: Desk) -> None:
    """Merges are not served here: their number counts, which has no order, so that none can be stuck behind another."""
    for ended in itertools.permutations(range(4), 2):
        put_merges(desk.root, "p/a", *["queued"] * 4)
        desk.graph("g", node("a", repository="p/a"))
        seen = []
        for merge in (None, *ended):
            if merge is not None:
                (desk.path("merges") / f"m{merge}.json").unlink()
            (decision,) = desk.next(preview=True, detail="full")["decisions"]
            seen.append([each for each in decision["reasons"] if each.startswith("merge_pressure")])
        assert seen == [[f"merge_pressure depth={depth} threshold=3 penalty=2.0"] for depth in (4, 3)] + [[]]


def test_094_alone_a_group_has_all_slots_and_the_next_free_one_is_the_newcomers(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 3, "agent_slots": 99})
    desk.graph("b", *(node(f"b{number}") for number in range(9)))
    leases = [desk.lease() for _ in range(3)]
    desk.graph("a", *(node(f"a{number}") for number in range(9)))
    assert (desk.taken(), counts(desk.next())) == ([], {"leased": 3, "no_slot": 15})
    desk.report(leases[0], "completed")
    assert desk.taken() == ["a0"]


@pytest.mark.parametrize(("window", "most"), [(0, 11), (8, 11 + 16)])
def test_095_cost_is_shared_and_not_the_number_of_dispatches(window: int, most: int) -> None:
    """Equal weights, 10 units against 1: at no instant are they further apart than the bound says."""
    graphs = many("a", 60, estimated_tokens=10_000), many("b", 600)
    served = Counter[str]()
    lead = []
    for name in Floor(*graphs, deadline_window=window).groups(400):
        served[name] += {"a": 10, "b": 1}[name]
        lead.append(served["a"] - served["b"])
    assert (max(lead) <= most, min(lead) >= -most) == (True, True)
    assert abs(lead[-1]) <= 10
    assert served["a"] >= 360


@pytest.mark.parametrize(("priority", "window"), [(0, 8), (-100, 0)])
def test_097_who_comes_back_at_each_completion_does_not_keep_the_only_slot(
    desk: Desk, priority: int, window: int
) -> None:
    """One node of b comes while a runs: it waits for one more of a at most."""
    desk.put(POLICY, {"slots": 1, "deadline_window": window})
    nodes = [node("a00")]
    desk.graph("a", *nodes)
    served = ""
    for number in range(1, 9):
        lease = desk.lease()
        served += told(desk, "work_started")[-1]["lease"]["graph_id"]
        if number == 5:
            desk.graph("b", node("b", priority=priority))
        nodes.append(node(f"a{number:02}"))
        desk.graph("a", *nodes)
        desk.report(lease, "completed")
    assert served == "aaaaaabaa"[: len(served)]


@pytest.mark.parametrize("limit", [1, 5, 20])
def test_098_a_low_node_under_a_steady_stream_is_served_by_dispatch_k_plus_1_of_its_group(limit: int) -> None:
    """Dispatches of other Groups are no dispatches of its own; a node of priority 9 comes with each one."""
    low = task("low")
    nodes, floor = [low], Floor(many("b"), group("a", low), pass_over_limit=limit, deadline_window=0)
    served = []
    for number in range(limit + 2):
        nodes.append(task(f"n{number:02}", priority=9))
        floor.bring(group("a", *nodes))
        served += floor.serve(2)
    assert served == [
        name
        for number in range(limit + 2)
        for name in (
            f"a/n{number:02}" if number < limit else ("a/low", f"a/n{limit:02}")[number - limit],
            f"b/b{number:04}",
        )
    ]


# --- credit ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1, 16])
def test_100_a_group_that_was_full_for_1_000_dispatches_gets_its_share_and_not_1_000_in_a_row(weight: int) -> None:
    """Its quota is raised; from then on it is its weight to 1."""
    floor = Floor(many("m", 1_100), many("z", 600), groups=shares(z={"quota": 1, "weight": weight}), deadline_window=0)
    assert "z" in {floor.ask()[0] for _ in range(2)}
    assert floor.groups(1_000) == "m" * 1_000
    floor.rule(groups=shares(z={"weight": weight}))
    assert floor.groups(20 * (weight + 1)) == ("z" * weight + "m") * 20


def test_101_the_tag_of_a_group_that_comes_back_is_v_or_its_own_whatever_is_greater() -> None:
    """It earned nothing while it was full; and what it is ahead is not forgiven either."""
    floor = Floor(many("m", 300), many("z", estimated_tokens=50_000), groups=shares(z={"quota": 1}), deadline_window=0)
    served = [floor.ask() for _ in range(2)]
    held = next(name for name in served if name[0] == "z")
    assert floor.groups(10) == "m" * 10
    floor.end(held)
    # It entered at 1 unit and was charged 50; m is at 12.
    assert (tag_of(floor, "z"), tag_of(floor, "m")) == (51, 12)
    assert floor.groups(39) == "m" * 39
    again = next(name for name in (floor.ask(), floor.ask()) if name[0] == "z")
    assert tag_of(floor, "z") == 101
    assert floor.groups(150) == "m" * 150
    floor.end(again)
    # Now m is further, and z is where V is: one unit behind m, before it is charged 50 more.
    ahead = tag_of(floor, "m")
    assert ahead > 200
    assert floor.ask()[0] == "z"
    assert tag_of(floor, "z") == ahead - 1 + 50


def tag_of(floor: Floor, graph_id: str) -> float:
    """The tag of a Group in units, as the ledger has it."""
    return floor.state.shares.pools[""].levels["normal"].flows[graph_id].tag / LCM


@pytest.mark.parametrize(("idle", "expected"), [("z", "zm" * 10), ("a", "a" + "am" * 10)])
def test_103_after_an_idle_hour_a_group_and_the_busy_one_take_turns_from_the_first_decision(
    desk: Desk, idle: str, expected: str
) -> None:
    """It comes back where V is, one unit behind the busy one; of equal tags the first by id goes first."""
    desk.put(POLICY, {"agent_slots": 999})
    desk.graph(idle, node("first", priority=1))
    desk.graph("m", *(node(f"m{number:03}") for number in range(60)))
    assert desk.taken() == ["first"]
    for _ in range(3):
        desk.claim(limit=10)
        desk.wait(1_200)
    desk.graph(idle, node("first", priority=1), *(node(f"n{number:03}") for number in range(100)))
    served = [desk.claim()["decisions"][0]["graph_id"] for _ in expected]
    assert "".join(served) == expected


# --- what is said of whom --------------------------------------------------------------------------------------------


def test_104_a_decision_names_no_other_group(desk: Desk) -> None:
    """Neither its line in the log nor the answer to its agent, whatever it had to wait for."""
    names = [f"tenant-{word}" for word in ("blue", "green", "red")]
    desk.put(POLICY, {"slots": 4, "agent_slots": 9, "groups": {names[0]: {"class": "high"}, names[1]: {"quota": 1}}})
    for name in names:
        desk.graph(name, *(node(f"{name[7:]}{number}", slots=1 + number % 3 // 2) for number in range(5)))
    answers: list[Json] = []
    running: list[str] = []
    for number in range(24):
        answers.append(desk.claim(f"w{number}"))
        running += [each["lease"]["lease_id"] for each in answers[-1]["decisions"]]
        if number % 2:
            answers.append(desk.report(running.pop(0), "completed"))
    records = [row for answer in answers for row in answer.get("decisions", [answer])]
    records += (logged := desk.lines("schedule/decisions.jsonl"))
    assert {row["graph_id"] for row in logged} == set(names)
    for record in records:
        text = json.dumps(record)
        assert [name for name in names if name[7:] in text] == [record["graph_id"]]


# --- guarantees, charges ---------------------------------------------------------------------------------------------


def test_106_below_its_guarantee_a_group_has_a_slot_asked_for_at_the_next_checkpoint(desk: Desk) -> None:
    """Two runs of b hold both slots: one of them is asked, at its next report, and is never interrupted."""
    desk.put(POLICY, {"slots": 2})
    desk.graph("b", *(node(f"b{number}", estimated_tokens=10_000) for number in range(5)))
    holders = {name: desk.lease(name) for name in ("w1", "w2")}
    desk.wait(300)
    for lease_id in holders.values():
        desk.report(lease_id, "running", usage={"tokens": 10_000})
    desk.graph("a", node("a0"))
    assert desk.taken("w3") == []
    (request,) = told(desk, "preemption_requested")
    assert (request["graph_id"], request["node_id"], request["slots"]) == ("a", "a0", 1)
    asked = {
        lease_id: desk.report(lease_id, "running", usage={"tokens": 10_001})["preempt_requested"]
        for lease_id in holders.values()
    }
    assert asked == {lease_id: lease_id == request["lease_id"] for lease_id in holders.values()}
    assert desk.taken("w3") == []
    desk.report(request["lease_id"], "paused", note="half of it is done")
    assert desk.taken("w3") == ["a0"]
    assert len(told(desk, "preemption_requested")) == 1


@pytest.mark.parametrize(("wide", "dear"), [(2, 2_000), (3, 3_000), (5, 5_000)])
def test_107_slots_and_tokens_are_one_charge(desk: Desk, wide: int, dear: int) -> None:
    """Whoever takes much of one, and little of the other, is served like whoever does it the other way round."""
    desk.put(POLICY, {"agent_slots": 99})
    desk.graph("d", *(node(f"d{number:02}", estimated_tokens=dear) for number in range(15)))
    desk.graph("n", *(node(f"n{number:02}", estimated_tokens=1_000) for number in range(60)))
    desk.graph("w", *(node(f"w{number:02}", estimated_tokens=1_000, slots=wide) for number in range(15)))
    desk.put(POLICY, {"agent_slots": 99, "deadline_window": 0})
    for _ in range(2):
        desk.claim(limit=2 * (wide + 2))
    leases = [each["lease"] for each in told(desk, "work_started")]
    assert {(each["graph_id"], each["holding"]["cost"]) for each in leases} == {("d", wide), ("n", 1), ("w", wide)}
    cost = Counter[str]()
    for each in leases:
        cost[each["graph_id"]] += each["holding"]["cost"]
    assert cost == {"d": 4 * wide, "n": 4 * wide, "w": 4 * wide}


def test_109_a_skipped_decision_is_no_service(desk: Desk) -> None:
    """A was passed by for its merges, b was served: a is still among those that got least."""
    desk.put(POLICY, {"weights": {**NOTHING, "fairness": 1}, "skip_on_merge_pressure": True})
    put_merges(desk.root, "p/a", "queued", "queued", "queued")
    names = [f"{letter}{number}" for letter in "ab" for number in range(3)]
    desk.graph("g", *(node(name, repository=f"p/{name[0]}") for name in names))
    answer = desk.next(limit=1)
    assert (given(answer), [each["node_id"] for each in answer["skipped"]]) == (["b0"], ["a0"])
    assert [(row["node_id"], row["skipped"]) for row in desk.lines("schedule/decisions.jsonl")] == [
        ("b0", False),
        ("a0", True),
    ]
    desk.report(desk.lease(), "completed")
    desk.flush()
    put_merges(desk.root, "p/a", "merged", "merged", "merged")
    rows = desk.next(limit=9, preview=True, detail="full")["decisions"]
    assert [(row["node_id"], row["reasons"][-1]) for row in rows] == [
        *((name, "fairness=1") for name in ("a0", "a1", "a2")),
        *((name, "fairness=0") for name in ("b1", "b2")),
    ]
