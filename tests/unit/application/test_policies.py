"""The policy is shown, tried and set: by whom, from which revision, and what it does to the order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import AuthForbidden, GraphNotFound, InvalidInput, PolicyInvalid, RevisionConflict
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.application.desk import Desk, Json

POLICY = "schedule/policy.json"
AUDIT = "schedule/audit.jsonl"
DEFAULTS: Json = {
    "weights": {
        "priority": 1.0,
        "dependency": 0.2,
        "affinity": 0.5,
        "cost": 0.25,
        "fairness": 0.0,
        "urgency": 1.0,
        "deadline": 1.0,
    },
    "merge_queue_threshold": 3,
    "merge_pressure_penalty": 2.0,
    "skip_on_merge_pressure": False,
    "graph_overrides": {},
    "ordering": "fair",
    "slots": None,
    "agent_slots": 1,
    "queue_capacity": 1000,
    "classes": {"critical": 16, "high": 8, "normal": 4, "low": 1},
    "groups": {},
    "resources": {},
    "agents": {},
    "pass_over_limit": 20,
    "fairness_window": 100,
    "drain_limit": 3,
    "deadline_horizon_seconds": 86400,
    "deadline_window": 8,
    "class_window": 0,
    "leases": {
        "seconds": 900,
        "unattended_seconds": 14400,
        "max_seconds": 86400,
        "start_by_seconds": 3600,
        "blocked_seconds": 86400,
        "idle_seconds": 7200,
        "observed_seconds": 86400,
    },
    "preemption": {"enabled": True, "min_quantum_seconds": 300, "max_preemptions": 2},
    "retries": {"max_attempts": 3, "backoff_seconds": 60, "max_backoff_seconds": 3600},
    "gates": {"approval_required_for": ["high_risk", "destructive"]},
    "affinity": {"scope": "pool", "max_age_seconds": None, "require_path": True},
    "disclosure": {"max_groups": 8, "max_cost": 16, "seconds_per_unit": 60},
}


def operator(desk: Desk, **settings: Any) -> Desk:  # noqa: ANN401 - any field
    """The same workspace, with a person who vouches."""
    return desk.beside(operator="ada", agent_id="agent-1", **settings)


def effect(answer: Json, side: str) -> list[str]:
    return [each["node_id"] for each in answer["effect"][side]]


def test_the_defaults_are_shown_without_a_file(desk: Desk) -> None:
    answer = desk.policy()
    assert (answer["policy"], answer["changed"], answer["warnings"]) == (DEFAULTS, False, [])
    assert len(answer["revision"]) == 12
    assert "effect" not in answer
    assert not desk.path(POLICY).exists()


def test_a_preview_shows_the_order_and_writes_nothing(desk: Desk) -> None:
    desk.graph("g", *(node(f"n{number:02d}", priority=number, estimated_tokens=1) for number in range(12)))
    desk.graph("h", node("cheap", estimated_tokens=0), node("dear", priority=1, estimated_tokens=9000))
    before = desk.policy()
    answer = desk.policy("preview", priority=0, dependency=0, cost=9)
    assert (answer["changed"], answer["policy"]["weights"]["cost"]) == (True, 9.0)
    assert answer["revision"] != before["revision"]
    # Nine starts of one unit each bring g eight units ahead: that is as far as its better nodes go (deadline_window).
    assert effect(answer, "before") == [*(f"n{number:02d}" for number in range(11, 2, -1)), "dear"]
    assert effect(answer, "after") == ["cheap", *(f"n{number:02d}" for number in range(9))]
    assert answer["effect"]["after"][0] == {"graph_id": "h", "node_id": "cheap", "score": 9.0}
    assert desk.policy() == before
    assert not desk.path(POLICY).exists()
    same = desk.policy("preview", priority=1)
    assert (same["changed"], same["revision"], same["effect"]["before"]) == (
        False,
        before["revision"],
        same["effect"]["after"],
    )


def test_weights_go_to_the_graph_that_is_named(desk: Desk) -> None:
    desk.graph("g", node("a"))
    answer = desk.policy("set", graph_id="g", priority=3, merge_queue_threshold=5)
    assert answer["policy"]["graph_overrides"]["g"]["priority"] == 3.0
    assert (answer["policy"]["weights"]["priority"], answer["policy"]["merge_queue_threshold"]) == (1.0, 5)
    with pytest.raises(InvalidInput) as caught:
        desk.policy("set", graph_id="g", merge_queue_threshold=5)
    assert caught.value.details == {"field": "graph_id"}
    for action in ("set", "preview"):
        with pytest.raises(GraphNotFound):
            desk.policy(action, graph_id="h", priority=1)


def test_arguments_and_patch_are_one_change(desk: Desk) -> None:
    patch = json.dumps(
        {"weights": {"cost": 2, "priority": 7}, "merge_queue_threshold": 9, "skip_on_merge_pressure": True}
    )
    answer = desk.policy("set", patch=patch, priority=3, merge_queue_threshold=4, merge_pressure_penalty=0.5)
    weights = {**DEFAULTS["weights"], "cost": 2.0, "priority": 3.0}
    plain = {"merge_queue_threshold": 4, "merge_pressure_penalty": 0.5, "skip_on_merge_pressure": True}
    assert answer["policy"] == {**DEFAULTS, "weights": weights, **plain}
    assert desk.policy()["policy"] == answer["policy"]


def test_a_set_of_nothing_is_refused(desk: Desk) -> None:
    for fields in ({}, {"patch": "{}"}):
        for action in ("set", "preview"):
            with pytest.raises(InvalidInput, match="There is nothing to set") as caught:
                desk.policy(action, **fields)
            assert caught.value.hint.startswith("Pass one of: priority, dependency, ")
            assert caught.value.hint.endswith(", skip_on_merge_pressure, patch.")


def test_a_set_is_recorded_with_before_after_and_who(desk: Desk) -> None:
    desk.graph("g", node("a", priority=1), node("b", priority=2))
    answer = operator(desk).policy("set", priority=0)
    assert (effect(answer, "before"), effect(answer, "after")) == (["b", "a"], ["a", "b"])
    (event,) = desk.lines(AUDIT)
    assert event == {
        "event_id": event["event_id"],
        "type": "PolicyChanged",
        "at": "2026-12-01T12:00:00+00:00",
        "source": "scheduler",
        "payload": {
            "before": DEFAULTS,
            "after": answer["policy"],
            "revision": answer["revision"],
            "agent_id": "agent-1",
            "operator": "ada",
            "surface": "mcp",
        },
    }


def test_a_set_of_what_is_so_already_writes_nothing(desk: Desk) -> None:
    desk.put(POLICY, {"weights": {"priority": 2}, "$schema": "mine"})
    before = desk.path(POLICY).read_bytes()
    answer = desk.policy("set", priority=2, cost=0.25)
    assert (answer["changed"], "effect" in answer, desk.path(POLICY).read_bytes()) == (False, False, before)
    assert desk.lines(AUDIT) == []


@pytest.mark.parametrize("key", ["graph_overrides", "groups"])
def test_a_key_that_is_no_graph_id_can_be_removed_and_never_set(desk: Desk, key: str) -> None:
    foreign = {"a b": {"cost": 1}} if key == "graph_overrides" else {"a b": {"quota": 1}}
    desk.put(POLICY, {key: foreign})
    server = operator(desk)
    for action in ("set", "preview"):
        with pytest.raises(InvalidInput, match=f"{key}: one of its keys is no graph id"):
            server.policy(action, patch=json.dumps({key: {"..": {}}}))
    assert server.policy("set", cost=1)["policy"][key].keys() == {"a b"}
    assert server.policy("set", patch=json.dumps({key: {"a b": None}}))["policy"][key] == {}


# --- shares --------------------------------------------------------------------------------------------------------


def shares(answer: Json) -> dict[str, tuple[float, float]]:
    """What each Group is guaranteed before and after, in the order of the answer."""
    return {each["graph_id"]: (each["before"], each["after"]) for each in answer["effect"]["shares"]}


def test_a_preview_shows_what_each_group_is_guaranteed(desk: Desk) -> None:
    for graph_id in ("shop", "site", "alarm"):
        desk.graph(graph_id, node(f"{graph_id}-1"))
    desk.graph("done", node("done-1", status="completed"))
    desk.graph("asks", node("asks-1", approval="human_required"))
    patch = {"groups": {"alarm": {"class": "critical"}, "shop": {"weight": 3}}}
    answer = desk.policy("preview", patch=json.dumps(patch))
    assert shares(answer) == {"alarm": (0.333333, 0.8), "shop": (0.333333, 0.15), "site": (0.333333, 0.05)}
    assert list(shares(answer)) == ["alarm", "shop", "site"]
    assert answer["effect"]["shares_total"] == 3
    group = answer["policy"]["groups"]["alarm"]
    assert (group["class"], group["weight"]) == ("critical", 1)
    assert not desk.path(POLICY).exists()


def test_a_set_shows_the_shares_too_and_counts_what_runs(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.graph("h", node("b", status="running") | {"updated_at": "2026-12-01T11:00:00+00:00"})
    answer = operator(desk).policy("set", patch='{"classes": {"low": 16}, "groups": {"h": {"class": "low"}}}')
    assert shares(answer) == {"g": (0.5, 0.2), "h": (0.5, 0.8)}
    assert desk.document(POLICY) == {"classes": {"low": 16}, "groups": {"h": {"class": "low"}}}
    assert desk.document("schedule/kept.json")["policy"] == desk.document(POLICY)


def test_the_twenty_groups_are_shown_whose_share_changes_most(desk: Desk) -> None:
    for place in range(25):
        desk.graph(f"g{place:02d}", node(f"n{place:02d}"))
    answer = desk.policy("preview", patch='{"groups": {"g22": {"weight": 16}}}')
    assert shares(answer) == {**{f"g{place:02d}": (0.04, 0.025) for place in range(19)}, "g22": (0.04, 0.4)}
    assert list(shares(answer)) == sorted(shares(answer))
    assert answer["effect"]["shares_total"] == 25
    unchanged = desk.policy("preview", cost=1)
    assert shares(unchanged) == {f"g{place:02d}": (0.04, 0.04) for place in range(20)}


def test_a_group_that_has_work_only_then_is_shown(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.graph("h", node("b", risk="external"))
    answer = desk.policy("preview", patch='{"gates": {"approval_required_for": ["external"]}}')
    assert shares(answer) == {"g": (0.5, 1.0), "h": (0.5, 0.0)}


def test_by_score_nothing_is_guaranteed(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.graph("h", node("b"))
    answer = desk.policy("preview", patch='{"ordering": "score"}')
    assert shares(answer) == {"g": (0.5, 0.0), "h": (0.5, 0.0)}
    operator(desk).policy("set", patch='{"ordering": "score"}')
    effect_of = desk.policy("preview", cost=1)["effect"]
    assert (effect_of["shares"], effect_of["shares_total"]) == ([], 0)


@pytest.mark.parametrize(
    ("patch", "field", "rule"),
    [
        ({"groups": {"g": {"class": "urgent"}}}, "groups/g/class", "should be 'critical', 'high', 'normal' or 'low'"),
        (
            {"groups": {"g": {"priority_class": "high"}}},
            "groups/g/priority_class",
            "unknown key, the nearest known one is class",
        ),
        ({"groups": {"g": {"weight": 17}}}, "groups/g/weight", "should be less than or equal to 16"),
        ({"classes": {"low": 0}}, "classes/low", "should be greater than or equal to 1"),
        ({"class_window": -1}, "class_window", "should be greater than or equal to 0"),
        ({"ordering": "fifo"}, "ordering", "should be 'fair' or 'score'"),
        ({"disclosure": {"max_groups": 0}}, "disclosure/max_groups", "should be greater than or equal to 1"),
        (
            {"disclosure": {"seconds_per_unit": 0}},
            "disclosure/seconds_per_unit",
            "should be greater than or equal to 1",
        ),
    ],
)
def test_a_bad_share_is_refused_by_field_and_rule(desk: Desk, patch: Json, field: str, rule: str) -> None:
    for action in ("set", "preview"):
        with pytest.raises(InvalidInput) as caught:
            operator(desk).policy(action, patch=json.dumps(patch))
        assert (caught.value.message, caught.value.details) == (f"{field}: {rule}", {"field": field})
    assert desk.policy()["policy"] == DEFAULTS


def test_null_in_a_patch_takes_a_key_back_to_its_default(desk: Desk) -> None:
    server = operator(desk)
    server.policy("set", patch='{"groups": {"g": {"class": "low", "weight": 2}}, "classes": {"low": 3, "high": 9}}')
    answer = server.policy("set", patch='{"groups": {"g": {"class": null}}, "classes": {"low": null}}')
    assert answer["policy"]["groups"]["g"]["class"] == "normal"
    assert answer["policy"]["groups"]["g"]["weight"] == 2
    assert answer["policy"]["classes"] == {"critical": 16, "high": 9, "normal": 4, "low": 1}
    answer = server.policy("set", patch='{"groups": null, "classes": null}')
    assert (answer["policy"], desk.policy()["warnings"]) == (DEFAULTS, [])


# --- who may -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patch", "keys"),
    [
        ({"slots": 4}, ["slots"]),
        ({"slots": None}, []),
        ({"groups": {"g": {"class": "critical"}}}, ["groups"]),
        ({"ordering": "score", "classes": {"low": 2}}, ["classes", "ordering"]),
        (
            {"class_window": 1, "deadline_window": 9, "drain_limit": 0, "pass_over_limit": 0},
            ["class_window", "deadline_window", "drain_limit", "pass_over_limit"],
        ),
        ({"preemption": {"enabled": False}}, ["preemption"]),
        ({"classes": {"low": 1}, "ordering": "fair"}, []),
        ({"gates": {"approval_required_for": []}, "weights": {"cost": 1}, "slots": 5}, ["gates", "slots"]),
        ({"gates": {"approval_required_for": ["high_risk", "destructive"]}}, []),
        ({"$schema": "https://example.org/policy.schema.json"}, []),
        ({"graph_overrides": {"g": {"cost": 1}}}, []),
        ({"agents": None}, []),
    ],
)
def test_an_agent_sets_only_the_keys_of_the_rfc(desk: Desk, patch: Json, keys: list[str]) -> None:
    if not keys:
        desk.policy("set", patch=json.dumps(patch))
        return
    with pytest.raises(AuthForbidden) as caught:
        desk.policy("set", patch=json.dumps(patch))
    assert caught.value.message == f"{', '.join(keys)}: Organization policy is set by an operator."
    assert (caught.value.details, desk.policy()["policy"]) == ({"keys": keys}, DEFAULTS)
    assert desk.policy("preview", patch=json.dumps(patch))["changed"] is True
    assert operator(desk).policy("set", patch=json.dumps(patch))["changed"] is True


def test_read_only_is_read_only_for_everybody(desk: Desk, tmp_path: Path) -> None:
    server = operator(desk, policy_read_only=True)
    with pytest.raises(AuthForbidden, match="started with --policy-read-only"):
        server.policy("set", cost=1)
    assert server.policy("preview", cost=1)["changed"] is True
    assert not (tmp_path / ".metagit" / POLICY).exists()


# --- revisions -----------------------------------------------------------------------------------------------------


def test_a_set_from_an_older_revision_is_refused(desk: Desk) -> None:
    first = desk.policy()["revision"]
    second = desk.policy("set", cost=1, expected_revision=first)["revision"]
    with pytest.raises(RevisionConflict) as caught:
        desk.policy("set", cost=2, expected_revision=first)
    assert caught.value.message == f"The policy has revision {second}, not the expected one."
    assert caught.value.details == {"revision": second}
    # A hand edit is another revision too.
    desk.put(POLICY, {"weights": {"cost": 3}})
    with pytest.raises(RevisionConflict):
        desk.policy("set", cost=2, expected_revision=second)


# --- a file that cannot be used ------------------------------------------------------------------------------------


def test_a_set_that_mends_the_policy_is_taken(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.put(POLICY, {"weights": {"priority": -1, "cost": 2}})
    with pytest.raises(PolicyInvalid, match="weights/priority: should be greater than or equal to 0"):
        desk.policy("set", cost=1)
    with pytest.raises(InvalidInput, match="weights/priority: should be less than or equal to 1000000"):
        desk.policy("set", patch='{"weights": {"priority": 1e9}}')
    with pytest.raises(RevisionConflict, match="The policy has revision none, not the expected one"):
        desk.policy("set", priority=3, expected_revision="0123456789ab")
    with pytest.raises(PolicyInvalid):
        desk.policy("preview", priority=3)
    answer = desk.policy("set", priority=3)
    assert (answer["changed"], "effect" in answer) == (True, False)
    assert desk.document(POLICY) == {"weights": {"priority": 3.0, "cost": 2}}
    (event,) = desk.lines(AUDIT)
    assert (event["payload"]["before"], event["payload"]["after"]["weights"]["priority"]) == (None, 3.0)


def test_mending_the_policy_needs_the_same_authority(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 0, "weights": {"cost": 2}})
    with pytest.raises(AuthForbidden) as caught:
        desk.policy("set", patch='{"slots": 4}')
    assert caught.value.details == {"keys": ["slots"]}
    assert operator(desk).policy("set", patch='{"slots": 4}')["policy"]["slots"] == 4


def test_a_key_nobody_knows_is_mended_by_its_removal(desk: Desk) -> None:
    desk.put(POLICY, {"slotz": 3})
    with pytest.raises(PolicyInvalid, match="slotz: unknown key"):
        desk.policy()
    assert desk.policy("set", patch='{"slotz": null}')["policy"] == DEFAULTS
    assert desk.document(POLICY) == {}


def test_a_file_that_is_no_json_is_left_to_a_person(desk: Desk) -> None:
    desk.path("schedule").mkdir()
    desk.path(POLICY).write_text('{"weights": ')
    for action in ("set", "preview"):
        with pytest.raises(PolicyInvalid):
            operator(desk).policy(action, cost=1)
    assert desk.path(POLICY).read_text() == '{"weights": '


def test_what_is_set_for_a_group_that_is_not_there_is_told(desk: Desk) -> None:
    desk.graph("shop", node("a"))
    owner = desk.beside(operator="ada")
    patch = {"groups": {"shpo": {"class": "high"}, "shop": {"weight": 2}, "old": None}, "graph_overrides": {"soph": {}}}
    told = [
        f"{key}: no graph is called {name} so far; known: shop"
        for key, name in (("graph_overrides", "soph"), ("groups", "shpo"))
    ]
    assert [owner.policy(action, patch=json.dumps(patch))["warnings"] for action in ("preview", "set")] == [told] * 2
    assert owner.policy("set", patch='{"groups": null}')["warnings"] == []
