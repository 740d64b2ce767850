"""Imports beside other processes: several at once, and agents that work meanwhile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.scenarios.attack import Run
from tests.scenarios.surfaces import command, serving
from tests.unit.wire.lists import edge, issue

if TYPE_CHECKING:
    from pathlib import Path

ISSUES = [
    issue(f"a-{number}", dependencies=[edge(f"a-{number}", f"a-{number - 1}")] if number else [])
    for number in range(40)
]


def put(root: Path, *titles: str) -> str:
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True, exist_ok=True)
    path = root / "issues.jsonl"
    path.write_text("".join(f"{json.dumps({**each, **dict.fromkeys(titles, 'Other')})}\n" for each in ISSUES))
    return str(path)


def test_several_imports_at_once_make_each_node_once(tmp_path: Path) -> None:
    path = put(tmp_path)
    runs = [Run(tmp_path, "import", "beads", path, "--json") for _ in range(4)]
    found = [each.ended().record["graphs"][0] for each in runs]
    assert sorted(each["created"] for each in found) == [0, 0, 0, 40]
    assert [each["updated"] + each["kept_here"] for each in found] == [0] * 4
    rows = json.loads((tmp_path / ".metagit/tasks/graphs/a.json").read_text())["nodes"]
    assert [row["node_id"] for row in rows] == [each["id"] for each in ISSUES]
    (again,) = command(tmp_path, "import", "beads", path)["graphs"]
    assert (again["created"], again["updated"], again["unchanged"]) == (0, 0, 40)


def test_an_import_beside_a_server_takes_no_work_from_its_agents(tmp_path: Path) -> None:
    command(tmp_path, "import", "beads", put(tmp_path))
    with serving(tmp_path) as server:
        (first,) = server.call("schedule_next", claim=True, agent_id="w1")["decisions"]
        (graph,) = command(tmp_path, "import", "beads", put(tmp_path, "title"))["graphs"]
        assert (graph["updated"], graph["kept_here"]) == (39, 1)
        lease_id = first["lease"]["lease_id"]
        assert server.call("work_report", lease_id=lease_id, state="completed")["node_status"] == "completed"
        (second,) = server.call("schedule_next", claim=True, agent_id="w1")["decisions"]
    assert (first["node_id"], first["title"]) == ("a-0", "a-0")
    assert (second["node_id"], second["title"]) == ("a-1", "Other")
