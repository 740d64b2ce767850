"""A change that is written stands: a log that cannot follow is a warning, and what is told of it is what happened."""

import json
from pathlib import Path
from typing import Any

import pytest

from metagit_mcp.adapters.policy_file import PolicyFileStore
from metagit_mcp.errors import PolicyInvalid
from metagit_mcp.wire.answer_size import fitted
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.requests import TaskPlanRequest
from tests.scenarios.at_once import finished
from tests.scenarios.companion import approve, next_of, opened, set_policy, update

TASKS = ".metagit/events/taskgraph.jsonl"
AUDIT = ".metagit/schedule/audit.jsonl"
EVENTS = ".metagit/events/scheduler.jsonl"


def plan(root: Path, **fields: object) -> Any:  # noqa: ANN401 - any JSON
    return fitted(finished(opened(root).tasks.plan(parse_request(TaskPlanRequest, fields))))


def in_the_way(root: Path, log: str) -> list[str]:
    (root / log).mkdir(parents=True)
    return [f"{log} is not a regular file but a folder."]


def rows(root: Path, log: str) -> Any:  # noqa: ANN401 - any JSON
    return [json.loads(line) for line in (root / log).read_text().splitlines()]


def test_a_plan_whose_events_cannot_be_logged_stands(root: Path) -> None:
    warnings = in_the_way(root, TASKS)
    answer = plan(root, title="More", outline="One")
    assert (answer["added"], answer["warnings"]) == (1, warnings)


def test_an_update_whose_event_cannot_be_logged_stands(root: Path) -> None:
    warnings = in_the_way(root, TASKS)
    answer = update(opened(root), node_id="a", status="completed")
    assert (answer["node"]["status"], answer["changed"], answer["warnings"]) == ("completed", True, warnings)


def test_a_policy_whose_change_cannot_be_logged_stands(root: Path) -> None:
    warnings = in_the_way(root, AUDIT)
    answer = set_policy(opened(root), priority=3)
    assert (answer["policy"]["weights"]["priority"], answer["warnings"]) == (3.0, warnings)


def test_an_approval_that_cannot_be_logged_stands(root: Path) -> None:
    warnings = in_the_way(root, AUDIT)
    update(opened(root), node_id="a", risk="destructive", priority=9)
    assert approve(opened(root), "a")["warnings"] == warnings
    assert next_of(opened(root), limit=1, preview=True)["decisions"][0]["node_id"] == "a"


def test_a_decision_whose_event_cannot_be_logged_is_logged_once(root: Path) -> None:
    warnings = in_the_way(root, EVENTS)
    application = opened(root)
    first, second = next_of(application, limit=1), next_of(application, limit=1)
    assert (first["warnings"], second["warnings"]) == (warnings, [])
    assert [row["decision_id"] for row in rows(root, ".metagit/schedule/decisions.jsonl")] == [
        second["decisions"][0]["decision_id"]
    ]


def test_what_a_plan_made_is_told_as_it_was_written(root: Path) -> None:
    plan(root, title="More", outline="One\nTwo (after: one)")
    told = [(row["type"], row["payload"]) for row in rows(root, TASKS)]
    assert told == [
        ("TaskGraphCreated", {"graph_id": "more", "title": "More"}),
        ("TaskNodeCreated", {"graph_id": "more", "node_id": "one", "title": "One"}),
        ("TaskNodeCreated", {"graph_id": "more", "node_id": "two", "title": "Two"}),
    ]


def test_a_policy_change_tells_what_was_there_when_it_was_made(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may have set it since this one looked last."""
    revise = PolicyFileStore.revise

    def late(store: PolicyFileStore, change: Any) -> Any:  # noqa: ANN401 - as the store's own
        (root / ".metagit/schedule/policy.json").write_text('{"weights": {"priority": 5.0}}')
        return revise(store, change)

    monkeypatch.setattr(PolicyFileStore, "revise", late)
    answer = set_policy(opened(root), priority=2)
    (event,) = rows(root, AUDIT)
    before, after = (event["payload"][when]["weights"]["priority"] for when in ("before", "after"))
    assert (before, after, answer["changed"]) == (5.0, 2.0, True)


@pytest.mark.parametrize("risk", ["external", "none"])
def test_no_node_is_started_while_nobody_knows_the_gates(root: Path, risk: str) -> None:
    update(opened(root), node_id="a", risk=risk)
    (root / ".metagit/schedule/policy.json").write_text('{"gates": {"approval_required_for": ["external"], "odd": 1}}')
    with pytest.raises(PolicyInvalid):
        update(opened(root), node_id="a", status="running")
    assert update(opened(root), node_id="a", status="completed")["changed"]
