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
    "ordering": "score",
    "slots": None,
    "agent_slots": 1,
    "queue_capacity": 1000,
    "groups": {},
    "agents": {},
    "resources": {},
    "fairness_window": 100,
    "deadline_horizon_seconds": 86400,
    "leases": {
        "seconds": 900,
        "unattended_seconds": 14400,
        "max_seconds": 86400,
        "start_by_seconds": 3600,
        "blocked_seconds": 86400,
        "idle_seconds": 7200,
        "observed_seconds": 86400,
    },
    "retries": {"max_attempts": 3, "backoff_seconds": 60, "max_backoff_seconds": 3600},
    "gates": {"approval_required_for": ["high_risk", "destructive"]},
    "affinity": {"scope": "pool", "max_age_seconds": None, "require_path": True},
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
    desk.graph("g", *(node(f"n{number:02d}", priority=number, estimated_tokens=0) for number in range(12)))
    desk.graph("h", node("cheap", estimated_tokens=0), node("dear", priority=1, estimated_tokens=9000))
    before = desk.policy()
    answer = desk.policy("preview", priority=0, cost=9)
    assert (answer["changed"], answer["policy"]["weights"]["cost"]) == (True, 9.0)
    assert answer["revision"] != before["revision"]
    assert effect(answer, "before") == [f"n{number:02d}" for number in range(11, 1, -1)]
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
    foreign = {"a/b": {"cost": 1}} if key == "graph_overrides" else {"a/b": {"quota": 1}}
    desk.put(POLICY, {key: foreign})
    server = operator(desk)
    for action in ("set", "preview"):
        with pytest.raises(InvalidInput, match=f"{key}: one of its keys is no graph id"):
            server.policy(action, patch=json.dumps({key: {"..": {}}}))
    assert server.policy("set", cost=1)["policy"][key].keys() == {"a/b"}
    assert server.policy("set", patch=json.dumps({key: {"a/b": None}}))["policy"][key] == {}


# --- who may -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patch", "keys"),
    [
        ({"slots": 4}, ["slots"]),
        ({"slots": None}, []),
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
