"""The parts are put together as the settings say, and a start loads nothing that it does not need."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pytest

from metagit_mcp.adapters.fault_points import FAULT_POINTS
from metagit_mcp.application.caller import Caller
from metagit_mcp.bootstrap import Application, Parts, init_workspace, open_application
from metagit_mcp.errors import AuthForbidden, InvalidInput, WorkspaceNotFound
from metagit_mcp.settings import Settings
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.requests import NextRequest, PolicyRequest, TaskPlanRequest
from tests.scenarios.at_once import AT_ONCE, finished
from tests.scenarios.companion import ended, start

AT = datetime(2026, 12, 1, 12, tzinfo=UTC)
Json = dict[str, Any]
PROBE = """
import sys
from metagit_mcp.bootstrap import open_application
from metagit_mcp.settings import settings_from
from tests.scenarios.at_once import AT_ONCE, finished
from tests.scenarios.companion import ended, start
application = open_application(settings_from({}, workspace=sys.argv[1]), surface="cli", waits=AT_ONCE)
assert finished(application.schedule.count_runnable(None)) == 0
print(" ".join(sorted({name.partition(".")[0] for name in sys.modules})))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    init_workspace(str(tmp_path))
    return tmp_path


def test_every_use_case_is_put_together_as_it_says(root: Path) -> None:
    # Each loads its parts when it is asked for: a name that is wrong there would be met by its first user.
    parts = Parts(settings(root), surface="mcp", waits=AT_ONCE)
    for whole in (Application(parts, Caller(operator="ada")), parts):
        names = {name: each for name, each in vars(type(whole)).items() if isinstance(each, cached_property)}
        wanted = {name: each.func.__annotations__["return"] for name, each in names.items()}
        assert {name: type(getattr(whole, name)).__name__ for name in names} == wanted
    parts.close()


def settings(root: Path, **changes: object) -> Settings:
    return Settings(workspace=str(root), watch="stat", **changes)  # type: ignore[arg-type]  # any field


def test_the_use_cases_share_one_workspace_clock_and_ids(root: Path) -> None:
    made = open_application(settings(root, ids="plan"), surface="mcp", waits=AT_ONCE)
    plan = {"title": "Ship", "graph_id": "ship", "nodes": [{"node_id": "build", "title": "Build"}]}
    finished(made.tasks.plan(parse_request(TaskPlanRequest, plan)))

    ids = []
    for seed in ("one", "one", "two"):
        application = open_application(settings(root, clock=AT, ids=seed), surface="mcp", waits=AT_ONCE)
        assert (application.place.path, application.place.chosen_by) == (str(root), "--workspace")
        (decision,) = finished(application.schedule.next(parse_request(NextRequest, {"preview": True}))).decisions
        assert (decision.at, decision.node_id) == (AT, "build")
        ids.append(decision.decision_id)
    assert ids[0] == ids[1] != ids[2]


def test_the_caller_has_the_authority_of_the_settings(root: Path) -> None:
    request = parse_request(PolicyRequest, {"action": "set", "patch": '{"slots": 3}'})
    for forbidding in ({}, {"policy_read_only": True}, {"operator": "ada", "policy_read_only": True}):
        application = open_application(settings(root, **forbidding), surface="mcp", waits=AT_ONCE)
        with pytest.raises(AuthForbidden):
            finished(application.policies.run(request))
    application = open_application(settings(root, operator="ada"), surface="mcp", waits=AT_ONCE)
    assert finished(application.policies.run(request)).changed is True


def claimed(root: Path, surface: Literal["mcp", "cli"], **changes: object) -> Json:
    """The lease of a claim that names nobody."""
    application = open_application(settings(root, **changes), surface=surface, waits=AT_ONCE)
    (decision,) = finished(application.schedule.next(parse_request(NextRequest, {"claim": True}))).decisions
    application.close()
    assert decision.lease is not None
    return plain(decision.lease)


def test_who_claims_is_what_the_process_was_started_as(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = open_application(settings(root), surface="mcp", waits=AT_ONCE)
    plan = {"title": "Ship", "graph_id": "ship", "outline": "\n".join(f"Step {number}" for number in range(6))}
    finished(planned.tasks.plan(parse_request(TaskPlanRequest, plan)))
    monkeypatch.setattr("metagit_mcp.adapters.system.user_at_host", lambda: "ada@box")
    agents = [
        claimed(root, "mcp", agent_id="ada", session_id="0f9a")["agent_id"],
        claimed(root, "mcp", session_id="0f9a")["agent_id"],
        claimed(root, "mcp", ids="seed")["agent_id"],
        claimed(root, "cli")["agent_id"],
        claimed(root, "cli", agent_id="bob")["agent_id"],
    ]
    assert agents == ["ada", "0f9a", agents[2], "ada@box", "bob"]
    assert agents[2].startswith("agent-")


def test_a_servers_lease_is_short_and_renewed_and_a_commands_is_long(root: Path, tmp_path: Path) -> None:
    planned = open_application(settings(root), surface="mcp", waits=AT_ONCE)
    plan = {"title": "Ship", "graph_id": "ship", "outline": "One\nTwo\nThree"}
    finished(planned.tasks.plan(parse_request(TaskPlanRequest, plan)))
    clock = tmp_path / "clock"
    clock.write_text("2026-12-01T12:00:00Z 1000 boot")
    ends = [
        claimed(root, "mcp", clock_file=str(clock), agent_id="a")["expires_at"],
        claimed(root, "cli", clock_file=str(clock), agent_id="b")["expires_at"],
        claimed(root, "cli", clock=AT, agent_id="c")["expires_at"],
    ]
    assert ends == ["2026-12-01T12:15:00Z", "2026-12-01T16:00:00Z", "2026-12-01T16:00:00Z"]


def test_no_workspace_is_an_error_and_opening_one_writes_nothing(root: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceNotFound):
        open_application(settings(tmp_path / "nowhere"), surface="cli", waits=AT_ONCE)
    before = sorted(root.rglob("*"))
    open_application(settings(root), surface="cli", waits=AT_ONCE)
    assert sorted(root.rglob("*")) == before


def test_an_unknown_fault_point_is_refused(root: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_application(settings(root, fault="graph.gone"), surface="cli", waits=AT_ONCE)
    assert caught.value.message == f"METAGIT_MCP_FAULT must be one of {', '.join(FAULT_POINTS)}"


def test_a_start_loads_neither_the_sdk_nor_networkx_nor_an_event_loop(root: Path) -> None:
    command = [sys.executable, "-c", PROBE, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert {"mcp", "networkx", "anyio", "asyncio", "click", "difflib", "sqlite3"} & set(done.stdout.split()) == set()


def test_the_list_of_graphs_is_metagits(root: Path) -> None:
    application = open_application(settings(root, clock=AT), surface="cli", waits=AT_ONCE)
    plan = {"title": "Ship", "graph_id": "ship", "outline": "Build"}
    finished(application.tasks.plan(parse_request(TaskPlanRequest, plan)))
    index = json.loads((root / ".metagit/tasks/index.json").read_text())
    assert [(row["graph_id"], row["title"], row["status"]) for row in index["graphs"]] == [("ship", "Ship", "active")]


def test_a_fault_point_says_its_name_and_kills_the_process(root: Path) -> None:
    ended_by = ended(start("next_of", root, fault="decisions.locked"))
    assert ended_by == (0, ended_by[1], "")
    plan = {"title": "Ship", "graph_id": "ship", "nodes": [{"node_id": "build", "title": "Build"}]}
    application = open_application(settings(root), surface="cli", waits=AT_ONCE)
    finished(application.tasks.plan(parse_request(TaskPlanRequest, plan)))
    assert ended(start("next_of", root, fault="decisions.locked")) == (-9, "", "decisions.locked\n")
