"""Lists of other programs as Hypothesis makes them up: plausible ones, and anything at all. No expectation."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from metagit_mcp.wire.lists.listed import ListFile

Json = dict[str, Any]
_TEXTS = st.text(alphabet="ab-:#\"' \n\u202e☃\x00", max_size=8)
JUNK = st.none() | st.booleans() | st.integers(-9, 10**20) | st.floats() | _TEXTS | st.lists(_TEXTS, max_size=2)
_INSTANTS = st.sampled_from(["2026-01-01T00:00:00Z", "2026-06-01", "2027-01-01 10:00", "9999-12-31T23:59:59-12:00"])
_ISSUE_IDS = st.sampled_from(["a-1", "a-2", "a-2.1", "b-3", "external:x", "a b"])
_KINDS = st.sampled_from(
    ["blocks", "parent-child", "waits-for", "related", "conditional-blocks", "x", "discovered-from"]
)
_STATUSES = st.sampled_from(
    ["open", "in_progress", "closed", "deferred", "blocked", "pending", "done", "review", "cancelled", "To Do", "odd"]
)


def _mostly(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(usual, usual, usual, JUNK)


def _fields(**known: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional={name: _mostly(each) for name, each in known.items()})


_EDGES = _fields(issue_id=_ISSUE_IDS, depends_on_id=_ISSUE_IDS, type=_KINDS)
_ISSUES = _fields(
    id=_ISSUE_IDS,
    title=_TEXTS,
    status=_STATUSES,
    priority=st.integers(0, 4),
    issue_type=st.sampled_from(["task", "gate"]),
    dependencies=st.lists(_mostly(_EDGES), max_size=4),
    due_at=_INSTANTS,
    defer_until=_INSTANTS,
    updated_at=_INSTANTS,
    estimated_minutes=st.integers(0, 100),
    assignee=_TEXTS,
    ephemeral=st.booleans(),
)
_TASK_IDS = st.integers(1, 4) | st.sampled_from(["1", "2", "2.1", "9"])
_TASKS = st.recursive(
    _fields(id=_TASK_IDS, title=_TEXTS, status=_STATUSES, dependencies=st.lists(_mostly(_TASK_IDS), max_size=3)),
    lambda below: _fields(
        id=_TASK_IDS,
        status=_STATUSES,
        priority=st.sampled_from(["high", "low"]),
        dependencies=st.lists(_mostly(_TASK_IDS), max_size=3),
        subtasks=st.lists(_mostly(below), max_size=3),
        updatedAt=_INSTANTS,
    ),
    max_leaves=6,
)
_TAGS = _fields(tasks=st.lists(_mostly(_TASKS), max_size=5), metadata=_fields(updated=_INSTANTS))
_PAGE_IDS = st.sampled_from(["TASK-1", "task-02", "BACK-3", "TASK-1.1", "4", "x"])
_NAMES = st.lists(_PAGE_IDS, max_size=3).map(lambda names: f"[{', '.join(names)}]")
_LINES = st.one_of(
    _PAGE_IDS.map("id: {}".format),
    _STATUSES.map("status: {}".format),
    _NAMES.map("dependencies: {}".format),
    _NAMES.map("subtasks: {}".format),
    _PAGE_IDS.map("parent_task_id: {}".format),
    _INSTANTS.map("due_date: {}".format),
    st.integers(-5, 10**9).map("ordinal: {}".format),
    st.sampled_from(["priority: high", "title: *x", "assignee: [a]", "updated_date: 2026-01-01", "? [a]", "a: {b: c}"]),
    _TEXTS,
)
_FOLDERS = st.sampled_from(["tasks", "completed", "archive/tasks", "drafts"])
_BODY = "\n---\n<!-- AC:BEGIN -->\n- [ ] #1 Works\n"


def _page(place: tuple[int, tuple[str, str, list[str]]]) -> ListFile:
    number, (folder, page_id, lines) = place
    front = "\n".join(dict.fromkeys([f"id: {page_id}", *lines]))
    return ListFile(name=f"{folder}/{number}.md", raw=f"---\n{front}{_BODY}".encode())


BEADS = st.lists(_mostly(_ISSUES), max_size=6).map(
    lambda rows: ListFile(name="issues.jsonl", raw="".join(f"{json.dumps(row)}\n" for row in rows).encode())
)
TASKMASTER = st.dictionaries(st.sampled_from(["a", "b"]), _mostly(_TAGS), max_size=2).map(
    lambda document: ListFile(name="tasks.json", raw=json.dumps(document).encode())
)
BACKLOG = st.lists(st.tuples(_FOLDERS, _PAGE_IDS, st.lists(_LINES, max_size=5)), max_size=6).map(
    lambda pages: tuple(map(_page, enumerate(pages)))
)
ANYTHING = st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass"))
