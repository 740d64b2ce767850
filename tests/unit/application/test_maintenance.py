"""The doctor looks everything over, whatever of it fails, and mends what is safe to mend, once."""

from __future__ import annotations

import json
import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from metagit_mcp.errors import ReadOnlyWorkspace
from metagit_mcp.wire.codec import plain
from tests import ready
from tests.scenarios.at_once import finished
from tests.unit.adapters.children import REPOSITORY, SECONDS
from tests.unit.adapters.reading import node, without
from tests.unit.application.desk import NOW
from tests.unit.application.diagnosed import CHECKS, FINE, FIX, claimed, doctor, found, looked, mended

if TYPE_CHECKING:
    import pytest

    from tests.unit.application.desk import Desk

# --- as it should be -------------------------------------------------------------------------------------------------


def test_an_empty_workspace_is_fine(desk: Desk) -> None:
    answer = doctor(desk)
    assert [(each["check"], each["state"]) for each in answer["checks"]] == FINE
    whats = [each["what"] for each in answer["checks"]]
    assert whats == [
        f"{desk.root}, chosen by --workspace",
        f"revision {desk.policy()['revision']}",
        "no field of ours was dropped",
        "usable graphs: 0",
        "every line can be read",
        "there is none yet; the first claim makes it",
        "live leases: 0",
        "graph files and ledger say the same",
        "nothing is left over",
    ]
    assert {name: each for name, each in answer.items() if name != "checks"} == {
        "problems": 0,
        "fixed": 0,
        "warnings": [],
        "next_step": "Nothing is to be done.",
    }


def test_a_workspace_at_work_is_fine_and_looking_changes_nothing(desk: Desk) -> None:
    claimed(desk)
    workspace_id = desk.document("schedule/workspace.json")["workspace_id"]
    before = [path.read_bytes() for path in sorted(desk.path("").rglob("*.json*"))]
    for fix in (False, True):
        answer = doctor(desk, fix=fix)
        assert [(each["check"], each["state"]) for each in answer["checks"]] == FINE
        assert answer["checks"][5]["what"] == f"workspace {workspace_id}; its state follows from its events, 2 so far"
        assert answer["checks"][6]["what"] == "live leases: 1"
    assert [path.read_bytes() for path in sorted(desk.path("").rglob("*.json*"))] == before


# --- files ---------------------------------------------------------------------------------------------------------


def test_a_full_disk_is_wrong(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((512, 512, 9, 9, 9, 0, 0, 0, 0, 255)))
    place = f"{desk.root}, chosen by --workspace"
    assert looked(desk) == [("workspace", "wrong", f"{place}; its disk is full, and nothing more can be recorded")]


def test_a_policy_that_cannot_be_used_is_wrong(desk: Desk) -> None:
    desk.path("schedule").mkdir()
    desk.path("schedule/policy.json").write_text("{")
    (finding,) = looked(desk, fix=True)
    assert finding[:2] == ("policy", "wrong")
    assert finding[2].startswith(".metagit/schedule/policy.json is not valid JSON")
    assert finding[2].endswith("Mend the file by hand, or move it away: then the defaults hold.")
    assert desk.path("schedule/policy.json").read_text() == "{"


def test_graphs_and_their_list(desk: Desk) -> None:
    desk.graph("bad", node("a", slots="many"), node("b"))
    desk.graph("odd", node("a", status="odd"))
    desk.path("tasks/graphs/half.json").write_text('{"nodes": [')
    before, during, after = mended(desk)
    listed = ".metagit/tasks/index.json is not in step with these graphs: bad, odd"
    assert [each[:2] for each in before] == [("graphs", state) for state in ("wrong", "wrong", "note", "wrong")]
    texts = [each[2] for each in before]
    assert texts[0].startswith("graph bad: a/slots: ")
    assert texts[1].startswith("graph half: ")
    assert texts[2:] == ["graph odd: unknown status of a; such nodes are not ready", listed]
    assert before[3][3:] == (FIX,)
    assert during == [*before[:3], ("graphs", "fixed", listed)]
    assert after == before[:3]
    assert doctor(desk)["problems"] == 2


def test_a_row_that_is_no_node_is_wrong(desk: Desk) -> None:
    desk.put("tasks/graphs/g.json", {"title": "g", "nodes": [node("two words"), node("a", status="odd")]})
    assert [each[1:3] for each in looked(desk) if each[2].startswith("graph g:")] == [
        ("wrong", "graph g: nodes/0/node_id: must be letters, digits, '_', '.', '-' (at most 255)"),
        ("note", "graph g: unknown status of a; such nodes are not ready"),
    ]


def test_kept_fields_that_were_dropped_are_a_note_and_a_damaged_file_is_set_aside(desk: Desk) -> None:
    desk.plan(nodes=[{"title": "A", "node_id": "a", "risk": "external"}], graph_id="g")
    desk.put("tasks/graphs/g.json", without(desk.document("tasks/graphs/g.json"), "risk"))
    assert ("kept", "note", "in force though another program dropped them: g/a risk") in looked(desk)
    desk.path("schedule/kept.json").write_text("{")
    before, during, after = mended(desk)
    (wrong,) = before
    assert (wrong[:2], wrong[3:]) == (("kept", "wrong"), (FIX,))
    assert (during, after) == ([("kept", "fixed", wrong[2])], [])
    assert desk.path("schedule/kept.json.bad").read_text() == "{"


def test_bad_lines_and_leftovers_are_mended(desk: Desk) -> None:
    claimed(desk)
    log, left = desk.path("schedule/decisions.jsonl"), desk.path("tasks/graphs/.metagit-1-ab.tmp")
    rows = len(desk.lines("events/taskgraph.jsonl"))
    log.write_text('garbage\n{"torn": ')
    left.write_text("half")
    texts = [
        ("logs", ".metagit/schedule/decisions.jsonl: no JSON: line 1"),
        ("logs", ".metagit/schedule/decisions.jsonl: the last line is cut off"),
        ("leftovers", "left behind by writers that were killed: .metagit/tasks/graphs/.metagit-1-ab.tmp"),
    ]
    for age, told in ((3_590, texts[:2]), (3_610, texts)):
        at = (NOW - timedelta(seconds=age)).timestamp()
        os.utime(left, (at, at))
        assert looked(desk) == [(check, "wrong", what, FIX) for check, what in told]
    assert mended(desk)[1:] == ([(check, "fixed", what) for check, what in texts], [])
    assert (log.read_text().split(), left.exists()) == ([], False)
    assert len(desk.lines("events/taskgraph.jsonl")) == rows


# --- the doctor itself ---------------------------------------------------------------------------------------------


def test_a_check_that_fails_ends_no_other(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise ValueError("the secret")

    monkeypatch.setattr("metagit_mcp.adapters.housekeeping.WorkspaceHousekeeping.logs", fail)
    answer = doctor(desk)
    assert [each["check"] for each in answer["checks"]] == list(CHECKS)
    assert found(answer) == [("logs", "wrong", "this check itself failed: ValueError")]
    assert (answer["problems"], answer["next_step"]) == (1, "A person has to mend what is wrong.")


def test_a_mend_that_fails_is_a_warning_and_the_fault_stays(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise ReadOnlyWorkspace("It cannot be written.")

    desk.graph("g", node("a"))
    monkeypatch.setattr("metagit_mcp.adapters.housekeeping.WorkspaceHousekeeping.mend_index", fail)
    answer = doctor(desk, fix=True)
    what = ".metagit/tasks/index.json is not in step with these graphs: g"
    assert found(answer) == [("graphs", "wrong", what, FIX)]
    assert {name: answer[name] for name in ("problems", "fixed", "warnings", "next_step")} == {
        "problems": 1,
        "fixed": 0,
        "warnings": ["It cannot be written."],
        "next_step": f"{FIX} mends what is safe to mend; nothing else is changed.",
    }


def test_warnings_that_are_no_finding_are_passed_on(desk: Desk) -> None:
    desk.put("worktrees/worktrees.json", {"worktrees": 1})
    answer = doctor(desk)
    assert (found(answer), len(answer["warnings"])) == ([], 1)
    assert "worktrees.json" in answer["warnings"][0]


def test_a_workspace_that_is_gone_is_told_by_each_check_that_needs_it(desk: Desk) -> None:
    other = desk.beside("cli", clock_file=None, clock=NOW)
    desk.root.rename(desk.root.with_name("away"))
    answer = plain(finished(other.application.maintenance.doctor(fix=True)))
    assert [each["check"] for each in answer["checks"] if "is gone" in each["what"]] == [
        "policy",
        "graphs",
        "leases",
        "files",
    ]


def test_a_read_only_workspace_is_looked_at_and_left_alone(reachable: Desk) -> None:
    reachable.graph("g", node("a"))
    reachable.path("schedule").mkdir()
    folders = [reachable.root, *(path for path in reachable.root.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    commands = json.dumps([["doctor", "--fix"]])
    done = ready.run(
        [sys.executable, "-m", "tests.scenarios.nobody", str(reachable.root), commands],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    ((code, answer),) = json.loads(done.stdout)
    place = f"{reachable.root}, chosen by --workspace"
    assert code == 5
    assert found(answer) == [
        ("workspace", "note", f"{place}; this user cannot write into it, and has answers and previews only"),
        ("graphs", "wrong", ".metagit/tasks/index.json is not in step with these graphs: g", FIX),
    ]
    assert answer["warnings"] == ["this user cannot write into the workspace: nothing was mended"]
