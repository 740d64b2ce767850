"""What a later import does: nothing where nothing is new, what the list changed, and never what was decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.adapters.reading import node, without
from tests.unit.application.importing import (
    EARLY,
    LATE,
    beside,
    counts,
    put_issues,
    put_pages,
    put_tasks,
    run,
    told,
)
from tests.unit.wire.lists import edge, issue, task

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.application.desk import Desk, Json

STATUSES = ("open", "in_progress", "hooked", "blocked", "deferred", "closed", "pinned", "new_one")
OWN = ("parent_id", "not_before", "deadline", "estimated_runtime_seconds", "discovered_from", "acceptance")


def everything() -> list[Json]:
    """An issue of each status, each with all that may be imported."""
    return [
        issue(
            f"a-{number}",
            status=status,
            assignee="ann",
            estimated_minutes=5,
            due_at=LATE,
            defer_until=EARLY,
            updated_at=EARLY,
            dependencies=[
                edge(f"a-{number}", "a-0", "discovered-from"),
                edge(f"a-{number}", f"a-{number - 1}"),
                edge(f"a-{number}", "a-9", "parent-child"),
            ],
        )
        for number, status in enumerate(STATUSES)
    ]


def once(desk: Desk, *issues: Json) -> str:
    """Import issues for the first time; return where they are."""
    path = put_issues(desk, *issues)
    run(desk, "beads", path)
    return path


def again(desk: Desk, *issues: Json) -> Json:
    """Import another state of the same list."""
    return run(desk, "beads", put_issues(desk, *issues))


# --- nothing new ---------------------------------------------------------------------------------------------------


def test_the_same_file_again_changes_nothing_whatever_the_status(desk: Desk) -> None:
    path = once(desk, *everything())
    before = desk.path("tasks/graphs/a.json").read_bytes()
    assert counts(run(desk, "beads", path)) == {"unchanged": len(STATUSES)}
    assert desk.path("tasks/graphs/a.json").read_bytes() == before


def test_the_same_tags_again_change_nothing(desk: Desk) -> None:
    statuses = ("pending", "in-progress", "done", "review", "deferred", "cancelled", "completed", "blocked")
    rows = [task(n, status=each, subtasks=[task(1, status=each)]) for n, each in enumerate(statuses, start=1)]
    path = put_tasks(desk, {"a": {"tasks": rows}, "b": {"tasks": rows}})
    run(desk, "taskmaster", path)
    again = run(desk, "taskmaster", path)
    assert [(each["created"], each["updated"], each["unchanged"]) for each in again["graphs"]] == [(0, 0, 16)] * 2


def test_the_same_pages_again_change_nothing(desk: Desk) -> None:
    statuses = ("To Do", "To do", "In Progress", "Done", "Won't Do")
    pages = {
        f"tasks/{n}.md": f"---\nid: TASK-{n}\nstatus: {each}\nordinal: {n}000\ndue_date: 2027-01-0{n + 1}\n---\n"
        "<!-- AC:BEGIN -->\n- [ ] #1 Works\n<!-- AC:END -->\n"
        for n, each in enumerate(statuses)
    }
    path = put_pages(desk, {**pages, "archive/tasks/9.md": "---\nid: TASK-9\n---\n"})
    run(desk, "backlog", path)
    assert counts(run(desk, "backlog", path)) == {"unchanged": 5}


def test_nothing_is_new_after_another_program_dropped_what_it_does_not_know(desk: Desk) -> None:
    path = once(desk, *everything())
    desk.put("tasks/graphs/a.json", without(desk.document("tasks/graphs/a.json"), *OWN))
    assert "deadline" not in desk.row("a-0", "a")
    assert counts(run(desk, "beads", path)) == {"unchanged": len(STATUSES)}
    # What is taken over later brings the kept fields back too.
    put_issues(desk, *({**each, "title": "Other"} for each in everything()))
    run(desk, "beads", path)
    assert desk.row("a-0", "a")["deadline"] in {"2027-01-01T00:00:00Z", "2027-01-01T00:00:00+00:00"}


def test_nothing_is_new_after_what_was_done_here_was_written_back(desk: Desk) -> None:
    path = once(desk, *(issue(f"a-{number}") for number in range(4)))
    done, released, failed = (desk.lease(f"w{number}") for number in range(3))
    desk.flush()
    desk.report(done, "completed")
    desk.report(released, "released")
    desk.report(failed, "failed", note="why")
    desk.flush()
    before = desk.statuses("a")
    assert before == {"a-0": "completed", "a-1": "ready", "a-2": "ready", "a-3": "pending"}
    answer = run(desk, "beads", path)
    assert counts(answer) == {"unchanged": 3, "kept_here": 1}
    assert told(answer) == {"a-0": ("kept_here", ("status",))}
    assert desk.statuses("a") == before


# --- what the list changed -----------------------------------------------------------------------------------------


def test_what_the_list_changed_is_taken_over(desk: Desk) -> None:
    once(desk, issue("a-1"), issue("a-2"), issue("a-3", status="closed"), issue("a-4", due_at=LATE))
    answer = again(
        desk,
        issue("a-1", status="in_progress", assignee="bob", title="Build", priority=0),
        issue("a-2", status="deferred", dependencies=[edge("a-2", "a-1")]),
        issue("a-3", status="open"),
        issue("a-4"),
        issue("a-5"),
    )
    assert counts(answer) == {"created": 1, "updated": 4}
    assert told(answer) == {
        "a-1": ("updated", ("title", "status", "priority", "agent_id")),
        "a-2": ("updated", ("status", "depends_on")),
        "a-3": ("updated", ("status",)),
        "a-4": ("updated", ("deadline",)),
        "a-5": ("created", ()),
    }
    row = desk.row("a-1", "a")
    assert (row["status"], row["agent_id"], row["title"], row["priority"]) == ("running", "bob", "Build", 4)
    assert desk.row("a-2", "a")["blocker_reason"] == "status deferred in beads"
    assert (desk.row("a-3", "a")["status"], desk.row("a-4", "a")["deadline"]) == ("pending", None)
    assert counts(again(desk, issue("a-1"), issue("a-2"), issue("a-3"), issue("a-4"), issue("a-5"))) == {
        "updated": 2,
        "unchanged": 3,
    }
    assert desk.statuses("a") == dict.fromkeys([f"a-{number}" for number in range(1, 6)], "pending")
    assert desk.row("a-2", "a")["blocker_reason"] is None


def test_an_older_record_is_left_out_and_told(desk: Desk) -> None:
    once(desk, issue("a-1", status="closed", updated_at=LATE), issue("a-2"))
    answer = again(desk, issue("a-1", title="Old", updated_at=EARLY), issue("a-2", updated_at=EARLY))
    assert counts(answer) == {"unchanged": 1, "stale_skipped": 1}
    assert told(answer) == {"a-1": ("stale_skipped", ())}
    assert desk.statuses("a")["a-1"] == "completed"
    # The newer of both counts from then on, whatever came in between.
    assert counts(again(desk, issue("a-1", title="Old", updated_at=EARLY))) == {"stale_skipped": 1, "vanished": 1}
    assert counts(again(desk, issue("a-1", status="closed", title="New", updated_at=LATE))) == {
        "updated": 1,
        "vanished": 1,
    }


def test_an_older_file_of_tasks_without_times_is_left_out(desk: Desk) -> None:
    new: Json = {"m": {"tasks": [task(1, status="done")], "metadata": {"updated": LATE}}}
    old: Json = {"m": {"tasks": [task(1)], "metadata": {"updated": EARLY}}}
    run(desk, "taskmaster", put_tasks(desk, new))
    assert counts(run(desk, "taskmaster", put_tasks(desk, old))) == {"stale_skipped": 1}
    assert desk.statuses("m") == {"1": "completed"}


def test_times_are_compared_with_their_like(desk: Desk) -> None:
    """A record that gets a time of its own is not older than a list that had one."""
    before: Json = {"m": {"tasks": [task(1)], "metadata": {"updated": LATE}}}
    after: Json = {"m": {"tasks": [task(1, status="done", updatedAt=EARLY)], "metadata": {"updated": EARLY}}}
    run(desk, "taskmaster", put_tasks(desk, before))
    assert counts(run(desk, "taskmaster", put_tasks(desk, after))) == {"updated": 1}
    assert counts(run(desk, "taskmaster", put_tasks(desk, before))) == {"updated": 1}
    assert desk.document("schedule/imports/m.json")["records"]["1"]["at"] == "2026-01-01T00:00:00+00:00"


def test_what_vanished_stays_and_is_told_each_time(desk: Desk) -> None:
    once(desk, issue("a-1"), issue("a-2", status="closed"), issue("a-3"))
    for _ in range(2):
        answer = again(desk, issue("a-3"), issue("a-2", status="tombstone"))
        assert (counts(answer), told(answer)) == (
            {"unchanged": 1, "vanished": 2},
            {"a-1": ("vanished", ()), "a-2": ("vanished", ())},
        )
        assert answer["warnings"] == [
            "graph a: gone from the list, but still offered until metagit-mcp task update NODE --status cancelled: a-1"
        ]
    assert desk.statuses("a") == {"a-1": "pending", "a-2": "completed", "a-3": "pending"}
    # It may come back.
    assert counts(again(desk, issue("a-1"), issue("a-2", status="closed"), issue("a-3"))) == {"unchanged": 3}


def test_another_graph_is_left_alone(desk: Desk) -> None:
    once(desk, issue("a-1"))
    desk.graph("mine", node("a-1"), node("b-1", status="running"))
    before = {name: desk.path(f"tasks/graphs/{name}.json").read_bytes() for name in ("a", "mine")}
    path = put_issues(desk, issue("b-1"), name="other/.beads/issues.jsonl")
    assert counts(run(desk, "beads", path)) == {"created": 1}
    assert {name: desk.path(f"tasks/graphs/{name}.json").read_bytes() for name in before} == before


# --- what was decided here -----------------------------------------------------------------------------------------


def of_another_program(desk: Desk) -> None:
    desk.set_row("a-1", "a", status="completed", updated_at="2026-12-01T13:00:00+00:00")


def by_an_update(desk: Desk) -> None:
    desk.update("a-1", graph_id="a", status="completed")


def under_a_lease(desk: Desk) -> None:
    desk.report(desk.lease(), "completed")


@pytest.mark.parametrize("finish", [of_another_program, by_an_update, under_a_lease])
def test_what_is_finished_here_is_never_reopened_nor_reordered(desk: Desk, finish: Callable[[Desk], None]) -> None:
    once(desk, issue("a-1"))
    finish(desk)
    for fields in ({"status": "in_progress"}, {"status": "deferred"}, {"priority": 0}, {"title": "Other"}):
        answer = again(desk, issue("a-1", updated_at=LATE, **fields))
        assert counts(answer) == {"kept_here": 1}
        desk.flush()
        row = desk.row("a-1", "a")
        assert (row["status"], row["priority"], row["title"]) == ("completed", 2, "a-1")
    # That it is finished there too is no difference.
    assert counts(again(desk, issue("a-1", status="closed", updated_at=LATE))) == {"unchanged": 1}


def test_what_both_finished_is_reopened_only_where_it_was_not_done_here(desk: Desk) -> None:
    once(desk, issue("a-1", status="closed", updated_at=EARLY), issue("a-2", updated_at=EARLY))
    desk.report(desk.lease(), "completed")
    desk.flush()
    again(desk, issue("a-1", status="closed", updated_at=EARLY), issue("a-2", status="closed", updated_at=EARLY))
    answer = again(desk, issue("a-1", updated_at=LATE), issue("a-2", updated_at=LATE))
    assert told(answer) == {"a-1": ("updated", ("status",)), "a-2": ("kept_here", ("status",))}
    assert desk.taken() == ["a-1"]


@pytest.mark.parametrize("state", ["active", "queued", "submitted"])
def test_what_is_owned_or_under_review_is_left_alone(desk: Desk, state: str) -> None:
    desk.put("schedule/policy.json", {"groups": {"a": {"review": True}}})
    once(desk, issue("a-1"))
    lease_id = ""
    if state == "queued":
        desk.start("a-1", queue_only=True)
    else:
        lease_id = desk.start("a-1")["lease"]["lease_id"]
    if state == "submitted":
        desk.report(lease_id, "completed")
    answer = again(desk, issue("a-1", status="closed", priority=0, title="Other", updated_at=LATE))
    assert (counts(answer), told(answer)) == (
        {"kept_here": 1},
        {"a-1": ("kept_here", ("title", "status", "priority"))},
    )
    assert desk.settled("a-1", "a") == state
    if state == "active":
        assert desk.report(lease_id, "running")["lease"]["lease_id"] == lease_id
        # What the list said meanwhile is taken over as soon as nobody has it.
        desk.report(lease_id, "released")
        assert counts(run(desk, "beads", str(beside(desk, "shop")))) == {"updated": 1}
        assert (desk.statuses("a"), desk.taken("w2")) == ({"a-1": "completed"}, [])


@pytest.mark.parametrize("times", [({}, {}), ({"updated_at": EARLY}, {"updated_at": LATE})])
def test_that_a_node_runs_here_is_no_word_of_the_list(desk: Desk, times: tuple[Json, Json]) -> None:
    """Somebody there begins what is leased here; given back here, it is still theirs."""
    before, after = times
    once(desk, issue("a-1", **before))
    lease_id = desk.lease()
    desk.flush()
    taken = issue("a-1", status="in_progress", **after)
    assert counts(again(desk, taken)) == {"unchanged": 1}
    desk.report(lease_id, "released")
    assert told(again(desk, taken)) == {"a-1": ("updated", ("status",))}
    assert (desk.statuses("a"), desk.taken("w2")) == ({"a-1": "running"}, [])
    again(desk, issue("a-1", **after))
    assert desk.taken("w2") == ["a-1"]


def test_of_two_changes_the_newer_one_counts(desk: Desk) -> None:
    once(desk, *(issue(f"a-{number}", updated_at=EARLY) for number in range(3)))
    for number in range(3):
        desk.update(f"a-{number}", graph_id="a", priority=number + 7, title="Here")
    answer = again(
        desk,
        issue("a-0", priority=0, updated_at="2026-11-01T00:00:00Z"),
        issue("a-1", priority=0, updated_at=LATE),
        issue("a-2", priority=0),
    )
    assert told(answer) == {
        "a-0": ("kept_here", ("title", "priority")),
        "a-1": ("updated", ("priority",)),
        "a-2": ("kept_here", ("title", "priority")),
    }
    rows = [(desk.row(f"a-{number}", "a")["title"], desk.row(f"a-{number}", "a")["priority"]) for number in range(3)]
    assert rows == [("Here", 7), ("Here", 4), ("Here", 9)]


def test_what_is_held_there_and_was_let_go_here_stays_so(desk: Desk) -> None:
    path = once(desk, issue("a-1", status="deferred"))
    assert desk.taken() == []
    desk.update("a-1", graph_id="a", status="ready")
    assert counts(run(desk, "beads", path)) == {"kept_here": 1}
    assert desk.taken() == ["a-1"]


def test_work_that_is_blocked_here_is_let_go_by_the_list_only_if_that_is_newer(desk: Desk) -> None:
    once(desk, issue("a-1", status="blocked", updated_at=EARLY), issue("a-2", updated_at=EARLY))
    desk.report(desk.lease(), "blocked", note="needs a key")
    desk.flush()
    answer = again(desk, issue("a-1", updated_at=EARLY), issue("a-2", title="Other", updated_at=EARLY))
    assert told(answer) == {"a-1": ("updated", ("status",)), "a-2": ("updated", ("title",))}
    assert (desk.row("a-2", "a")["status"], desk.row("a-2", "a")["blocker_reason"]) == ("blocked", "needs a key")
    again(desk, issue("a-1"), issue("a-2", status="closed", title="Other", updated_at=LATE))
    assert desk.settled("a-2", "a") == "completed"


def test_a_node_that_was_taken_out_here_stays_out_until_the_list_changes_it(desk: Desk) -> None:
    path = once(desk, issue("a-1"), issue("a-2"))
    document = desk.document("tasks/graphs/a.json")
    desk.put("tasks/graphs/a.json", {**document, "nodes": document["nodes"][1:]})
    answer = run(desk, "beads", path)
    assert told(answer) == {"a-1": ("kept_here", ("removed",))}
    assert told(again(desk, issue("a-1", title="Other"), issue("a-2"))) == {"a-1": ("created", ())}


def test_a_graph_that_is_gone_is_made_again_and_what_was_done_here_counts(desk: Desk) -> None:
    path = once(desk, issue("a-1", updated_at=EARLY), issue("a-2"), issue("a-3"))
    desk.report(desk.lease(), "completed")
    held = desk.lease("w2")
    desk.flush()
    desk.path("tasks/graphs/a.json").unlink()
    assert counts(run(desk, "beads", path)) == {"created": 3}
    assert desk.statuses("a") == {"a-1": "completed", "a-2": "running", "a-3": "pending"}
    assert desk.report(held, "completed")["node_status"] == "completed"
    assert desk.taken("w3") == ["a-3"]


def test_rows_that_cannot_be_used_are_left_alone(desk: Desk) -> None:
    path = once(desk, issue("a-1"), issue("a-2"))
    document = desk.document("tasks/graphs/a.json")
    desk.put("tasks/graphs/a.json", {**document, "nodes": [*document["nodes"], document["nodes"][0], 5, None]})
    put_issues(desk, issue("a-1", title="Other"), issue("a-2"), issue("a-3"))
    answer = run(desk, "beads", path)
    assert told(answer) == {"a-1": ("kept_here", ("node_id",)), "a-3": ("created", ())}
    assert desk.document("tasks/graphs/a.json")["nodes"][3:5] == [5, None]


def test_what_others_wrote_meanwhile_is_written_back_with_the_import(desk: Desk) -> None:
    """A claim of this very process whose row is not written yet."""
    once(desk, issue("a-1"), issue("a-2"))
    desk.lease()
    answer = again(desk, issue("a-1"), issue("a-2", title="Other"))
    assert told(answer)["a-2"] == ("updated", ("title",))
    assert desk.row("a-1", "a")["status"] == "running"
    kinds = [each["type"] for each in desk.lines("events/taskgraph.jsonl")]
    assert kinds[-1:] == ["TaskStarted"]


def test_a_run_that_somebody_there_began_is_nobody_elses(desk: Desk) -> None:
    once(desk, issue("a-1", status="hooked", assignee="ann"), issue("a-2"))
    desk.report(desk.lease(), "completed")
    desk.wait(3 * 86_400)
    assert desk.taken("w2") == []
    (reason,) = desk.status(node_id="a-1")["explain"]["reasons"]
    assert reason["text"].startswith("observed(since ")
    # Here too the list says when it is over.
    again(desk, issue("a-1", status="open"), issue("a-2"))
    assert desk.taken("w3") == ["a-1"]
