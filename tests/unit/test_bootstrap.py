"""The parts are put together as the settings say, and a start loads nothing that it does not need."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from metagit_mcp.adapters.fault_points import FAULT_POINTS
from metagit_mcp.bootstrap import init_workspace, open_application
from metagit_mcp.errors import AuthForbidden, InvalidInput, WorkspaceNotFound
from metagit_mcp.settings import Settings
from metagit_mcp.wire.requests import NextRequest, PolicyRequest, TaskPlanRequest, parse_request
from tests.scenarios.at_once import at_once, finished
from tests.scenarios.companion import ended, start

AT = datetime(2026, 12, 1, 12, tzinfo=UTC)
PROBE = """
import sys
from metagit_mcp.bootstrap import open_application
from metagit_mcp.settings import settings_from
from tests.scenarios.at_once import at_once, finished
from tests.scenarios.companion import ended, start
application = open_application(settings_from({}, workspace=sys.argv[1]), surface="cli", offload=at_once)
assert finished(application.schedule.count_runnable(None)) == 0
print(" ".join(sorted({name.partition(".")[0] for name in sys.modules})))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    init_workspace(str(tmp_path))
    return tmp_path


def settings(root: Path, **changes: object) -> Settings:
    return Settings(workspace=str(root), watch="stat", **changes)  # type: ignore[arg-type]  # any field


def test_the_use_cases_share_one_workspace_clock_and_ids(root: Path) -> None:
    made = open_application(settings(root, ids="plan"), surface="mcp", offload=at_once)
    plan = {"title": "Ship", "graph_id": "ship", "nodes": [{"node_id": "build", "title": "Build"}]}
    finished(made.tasks.plan(parse_request(TaskPlanRequest, plan)))

    ids = []
    for seed in ("one", "one", "two"):
        application = open_application(settings(root, clock=AT, ids=seed), surface="mcp", offload=at_once)
        assert (application.place.path, application.place.chosen_by) == (str(root), "--workspace")
        (decision,) = finished(application.schedule.next(parse_request(NextRequest, {"preview": True}))).decisions
        assert (decision.at, decision.node_id) == (AT, "build")
        ids.append(decision.decision_id)
    assert ids[0] == ids[1] != ids[2]


def test_the_caller_has_the_authority_of_the_settings(root: Path) -> None:
    request = parse_request(PolicyRequest, {"action": "set", "patch": '{"slots": 3}'})
    for forbidding in ({}, {"policy_read_only": True}, {"operator": "ada", "policy_read_only": True}):
        application = open_application(settings(root, **forbidding), surface="mcp", offload=at_once)
        with pytest.raises(AuthForbidden):
            finished(application.policies.run(request))
    application = open_application(settings(root, operator="ada"), surface="mcp", offload=at_once)
    assert finished(application.policies.run(request)).changed is True


def test_no_workspace_is_an_error_and_opening_one_writes_nothing(root: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceNotFound):
        open_application(settings(tmp_path / "nowhere"), surface="cli", offload=at_once)
    before = sorted(root.rglob("*"))
    open_application(settings(root), surface="cli", offload=at_once)
    assert sorted(root.rglob("*")) == before


def test_an_unknown_fault_point_is_refused(root: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_application(settings(root, fault="graph.gone"), surface="cli", offload=at_once)
    assert caught.value.message == f"METAGIT_MCP_FAULT must be one of {', '.join(FAULT_POINTS)}"


def test_a_start_loads_neither_the_sdk_nor_networkx_nor_an_event_loop(root: Path) -> None:
    command = [sys.executable, "-c", PROBE, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert {"mcp", "networkx", "anyio", "asyncio", "click", "difflib", "sqlite3"} & set(done.stdout.split()) == set()


def test_the_list_of_graphs_is_metagits(root: Path) -> None:
    application = open_application(settings(root, clock=AT), surface="cli", offload=at_once)
    plan = {"title": "Ship", "graph_id": "ship", "outline": "Build"}
    finished(application.tasks.plan(parse_request(TaskPlanRequest, plan)))
    index = json.loads((root / ".metagit/tasks/index.json").read_text())
    assert [(row["graph_id"], row["title"], row["status"]) for row in index["graphs"]] == [("ship", "Ship", "active")]


def test_a_fault_point_says_its_name_and_kills_the_process(root: Path) -> None:
    ended_by = ended(start("next_of", root, fault="decisions.locked"))
    assert ended_by == (0, ended_by[1], "")
    plan = {"title": "Ship", "graph_id": "ship", "nodes": [{"node_id": "build", "title": "Build"}]}
    application = open_application(settings(root), surface="cli", offload=at_once)
    finished(application.tasks.plan(parse_request(TaskPlanRequest, plan)))
    assert ended(start("next_of", root, fault="decisions.locked")) == (-9, "", "decisions.locked\n")
