"""What a Group is told of its schedule, and what nobody is: the requirements I of docs/reference/conformance.md."""

from pathlib import Path
from typing import Any, get_args

import pytest

from metagit_mcp.domain.feeds import CapacityStatus
from metagit_mcp.errors import ActionIdCollision, GroupNotFound, MetagitError, NodeNotFound
from metagit_mcp.wire.codec import plain
from tests.groups.offered import CAPABLE, CODER, at_the_beginning, deliver, offering
from tests.scenarios.at_once import finished
from tests.scenarios.planted import estimated
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

Json = dict[str, Any]
GROUP = "group:cli"
POLICY = "schedule/policy.json"


def desk_with_group(root: Path, items: int = 2, **policy: object) -> Desk:
    """A process on a workspace with a fed Group that offers its work."""
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = at_the_beginning(Desk(root))
    desk.put(POLICY, {"slots": 2, "agent_slots": 2, **policy})
    deliver(desk, offering(GROUP, items=items).log, GROUP)
    return desk


def told(desk: Desk) -> list[Json]:
    """The estimates that the Group is to be told, as its outbox has them."""
    every = finished(desk.application.groups.outbox(GROUP)).proposals
    return [plain(each)["payload"] for each in every if each.command == "schedule.estimate"]


def test_an_estimate_is_published_on_acceptance_and_when_it_changes(tmp_path: Path) -> None:
    """Claims I1."""
    desk = desk_with_group(tmp_path / "ws")
    assert told(desk) == []
    lease_id = desk.lease(CODER, capabilities=CAPABLE)
    (first,) = told(desk)
    assert set(first) == {
        *("estimatedStart", "estimatedStartFrom", "estimatedCompletion"),
        *("confidence", "capacityStatus", "lastCalculatedAt"),
    }
    # Time that passes is no news; that it takes longer than was told is.
    for seconds, is_news in ((800, False), (600, True)):
        desk.wait(seconds)
        desk.report(lease_id, "running")
        assert (told(desk) != [first]) == is_news
    assert [each["lastCalculatedAt"] for each in told(desk)] == ["2026-07-15T08:23:20Z"]


def test_an_estimate_says_nothing_of_any_other_group(tmp_path: Path) -> None:
    """Claims I2."""
    alone, crowded = desk_with_group(tmp_path / "one"), desk_with_group(tmp_path / "two")
    crowded.graph("rival", *(node(f"r{number}", priority=900, estimated_tokens=90_000) for number in range(40)))
    assert len(crowded.claim("w", graph_id="rival", limit=2)["decisions"]) == 2
    for name in (None, "cli:requirements"):
        assert estimated(crowded, GROUP, name) == estimated(alone, GROUP, name)
    (group,) = crowded.status(graph_id=GROUP)["groups"]
    assert {"starts_before", "received", "guaranteed"} & group.keys() == set()
    assert "starts_before" in {name for each in crowded.status()["groups"] for name in each}


def test_an_estimate_has_all_that_a_schedule_estimate_has(tmp_path: Path) -> None:
    """Claims I3."""
    desk = desk_with_group(tmp_path / "ws", items=3)
    desk.graph("held", node("a", status="blocked", blocker_reason="x"), node("b"))
    every = [estimated(desk, *which) for which in ((GROUP,), (GROUP, "cli:tests"), ("held", "a"), ("held", "b"))]
    for each in every:
        assert {"confidence", "capacity_status", "last_calculated_at"} <= each.keys()
        assert 0 <= each["confidence"] <= 1
        assert each["capacity_status"] in get_args(CapacityStatus)
        # A window, or why there is none.
        assert ("estimated_start" in each) or each["warnings"]
    assert [each["capacity_status"] == "blocked" for each in every][2:] == [True, False]


def test_a_secret_has_no_place_and_a_lease_id_stands_in_no_log(tmp_path: Path) -> None:
    """Claims I6."""
    secret = {"credential_refs": ["cli-deploy"]}
    desk = desk_with_group(tmp_path / "ws", groups={GROUP: secret, "rival": {"credential_refs": ["rival-deploy"]}})
    desk.graph("rival", node("r"))
    (made,) = desk.claim(CODER, capabilities=CAPABLE, graph_id=GROUP)["decisions"]
    assert made["lease"]["credential_refs"] == ["cli-deploy"]
    answers = [desk.status(graph_id=GROUP), finished(desk.application.groups.outbox(GROUP)), estimated(desk, GROUP)]
    assert [each for each in answers if "deploy" in str(each)] == []
    logs = "".join(path.read_text() for path in (tmp_path / "ws" / ".metagit").rglob("*.jsonl"))
    assert made["node_id"] in logs
    assert made["lease"]["lease_id"] not in logs
    assert "deploy" not in logs


def refused(act: Any) -> MetagitError:  # noqa: ANN401 - any call
    with pytest.raises(MetagitError) as caught:
        act()
    return caught.value


def test_an_error_says_what_it_is_whether_to_retry_and_of_no_other_group(tmp_path: Path) -> None:
    """Claims I7."""
    desk = desk_with_group(tmp_path / "ws")
    desk.graph("rival", node("r"))
    desk.start("r", "w", graph_id="rival")
    desk.claim(CODER, capabilities=CAPABLE, graph_id=GROUP, action_id="act:1")
    errors = [
        refused(lambda: finished(desk.application.groups.shown("group:nobody"))),
        refused(lambda: estimated(desk, "group:nobody")),
        refused(lambda: estimated(desk, GROUP, "r")),
        refused(lambda: desk.claim(CODER, graph_id=GROUP, limit=2, action_id="act:1")),
    ]
    assert [type(each) for each in errors] == [GroupNotFound, GroupNotFound, NodeNotFound, ActionIdCollision]
    for each in errors:
        record = each.as_record()
        assert record.keys() == {"code", "message", "hint", "details", "retryable"}
        assert record["retryable"] is False
        assert "rival" not in str(record)
    assert errors[3].details == {"action_id": "act:1"}
