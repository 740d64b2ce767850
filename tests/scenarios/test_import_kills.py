"""An import is killed at each step of its writes: every file is whole, and the next run brings all of it to its end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters.fault_points import FAULT_POINTS
from tests.scenarios.attack import Run
from tests.scenarios.surfaces import Json, command
from tests.unit.wire.lists import edge, issue, task

if TYPE_CHECKING:
    from pathlib import Path

WRITES = ("imports", "graph", "index", "kept", "events")
POINTS = [point for point in FAULT_POINTS if point.partition(".")[0] in WRITES]
LATER = [
    issue("a-1", status="closed", due_at="2027-01-01T00:00:00Z"),
    issue("a-2", title="Other", dependencies=[edge("a-2", "a-1")]),
    issue("a-3", defer_until="2027-01-01T00:00:00Z"),
]
FIRST = [issue("a-1", due_at="2026-12-24T00:00:00Z"), issue("a-2")]
TAGS = {tag: {"tasks": [task(1, subtasks=[task(1)]), task(2, status="deferred")]} for tag in ("one", "two", "three")}


def put(root: Path, name: str, text: str) -> str:
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)
    return str(root / name)


def issues(root: Path, rows: list[Json]) -> str:
    return put(root, "issues.jsonl", "".join(f"{json.dumps(each)}\n" for each in rows))


def killed(root: Path, point: str, *words: str) -> None:
    end = Run(root, *words, "--json", env={"METAGIT_MCP_FAULT": point}).ended()
    assert (end.code, end.out, end.err.decode()) == (-9, b"", f"{point}\n")


def graphs(root: Path) -> Json:
    """What the graphs and the records of imports say, times left out; every file is whole."""
    found: Json = {}
    for path in sorted((root / ".metagit").rglob("*.json")):
        document = json.loads(path.read_text())
        if path.parent.name == "graphs":
            times = {"updated_at": "", "created_at": ""}
            found[path.stem] = [{**row, **times} for row in document["nodes"]]
        elif path.parent.name == "imports":
            found[f"imports/{path.stem}"] = document["records"]
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Json, Json]:
    """What the files say where nothing disturbs a first import, and a later one."""
    tags, later = tmp_path_factory.mktemp("tags"), tmp_path_factory.mktemp("later")
    command(tags, "import", "taskmaster", put(tags, "tasks.json", json.dumps(TAGS)))
    command(later, "import", "beads", issues(later, FIRST))
    command(later, "import", "beads", issues(later, LATER))
    return graphs(tags), graphs(later)


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_in_a_first_import(tmp_path: Path, whole: tuple[Json, Json], point: str) -> None:
    path = put(tmp_path, "tasks.json", json.dumps(TAGS))
    killed(tmp_path, point, "import", "taskmaster", path)
    graphs(tmp_path)
    found = command(tmp_path, "import", "taskmaster", path)["graphs"]
    assert {each["created"] + each["unchanged"] for each in found} == {3}
    assert graphs(tmp_path) == whole[0]


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_in_a_later_import(tmp_path: Path, whole: tuple[Json, Json], point: str) -> None:
    command(tmp_path, "import", "beads", issues(tmp_path, FIRST))
    path = issues(tmp_path, LATER)
    killed(tmp_path, point, "import", "beads", path)
    graphs(tmp_path)
    (found,) = command(tmp_path, "import", "beads", path)["graphs"]
    assert found["created"] + found["updated"] + found["unchanged"] == 3
    assert graphs(tmp_path) == whole[1]


LEDGER = ("ledger.locked", "ledger.begun", "ledger.committed")


@pytest.mark.parametrize("point", [*LEDGER, *(each for each in POINTS if each.startswith(("graph", "imports")))])
def test_a_kill_in_an_import_beside_a_ledger(tmp_path: Path, point: str) -> None:
    root = tmp_path / "w"
    command(root, "import", "beads", issues(root, FIRST))
    claim = ("schedule", "next", "--claim", "--agent-id", "w1")
    (given,) = command(root, *claim)["decisions"]
    killed(root, point, "import", "beads", issues(root, LATER))
    command(root, "import", "beads", str(root / "issues.jsonl"))
    rows = {row["node_id"]: row for row in graphs(root)["a"]}
    assert (rows["a-1"]["status"], rows["a-1"]["deadline"]) == ("running", "2026-12-24T00:00:00+00:00")
    assert (rows["a-2"]["title"], rows["a-3"]["not_before"]) == ("Other", "2027-01-01T00:00:00+00:00")
    lease = given["lease"]["lease_id"]
    assert command(root, "work", "report", lease, "--state", "completed")["node_status"] == "completed"
