"""Every role at every tool, resource, prompt and route, against a table that was written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest

from metagit_mcp.application.news.topics import Kind
from metagit_mcp.interfaces.http.routes import CHANGES, LOOKS
from metagit_mcp.interfaces.mcp.tools import TOOLS as KNOWN_TOOLS
from tests.interfaces.http.people import ROLES, STRANGERS
from tests.interfaces.http.who_may import ALL, PUBLIC, RESOURCES, REST, ROUTES, TOOLS, mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interfaces.http.people import People


@pytest.mark.parametrize(("role", "place"), [(role, place) for place, role in enumerate(ROLES)])
def test_each_role_may_do_what_the_table_says(people: People, role: str, place: int) -> None:
    caller = people[role]
    found = {name: mark(act(caller, role)) for name, act, _ in ALL}
    assert found == {name: expected[place] for name, _, expected in ALL}


@pytest.mark.parametrize("stranger", STRANGERS)
def test_who_has_no_token_that_is_good_here_gets_only_what_everybody_knows(people: People, stranger: str) -> None:
    caller = people[stranger]
    found = {name: act(caller, "agent") for name, act, _ in ALL}
    assert found == {name: "ok" if name in PUBLIC else "AUTH_REQUIRED" for name, _, _ in ALL}


def test_who_may_not_is_told_so_before_what_it_sent_is_read(people: People) -> None:
    found = {path: people["viewer"].post(path, {"nonsense": 1}).json for path, *_ in CHANGES}
    judge, pause = "approve, review, retry or take back work", "pause or resume"
    told = {
        **dict.fromkeys(("/v1/claim", "/v1/start", "/v1/report"), ("take work or report on it", "agent or operator")),
        **dict.fromkeys(("/v1/approve", "/v1/review", "/v1/retry", "/v1/release"), (judge, "operator")),
        **dict.fromkeys(("/v1/pause", "/v1/resume"), (pause, "operator")),
    }
    assert {path: (each["code"], each["message"], each["hint"]) for path, each in found.items()} == {
        path: ("AUTH_FORBIDDEN", f"The role viewer may not {act}.", f"A token with the role {roles} may.")
        for path, (act, roles) in told.items()
    }


def test_nothing_is_missing_in_the_table() -> None:
    told = " ".join(name for name, _, _ in TOOLS)
    assert [each.name for each in KNOWN_TOOLS if each.name.rpartition("_")[2] not in told] == []
    routes = " ".join(name for name, _, _ in ROUTES)
    paths = [*(path for path, _ in LOOKS), *(path for path, *_ in CHANGES)]
    assert [path for path in paths if path.partition("/{")[0] not in routes] == []
    uris = " ".join(name for name, _, _ in RESOURCES).lower()
    kinds = [kind for kind in get_args(Kind) if kind not in uris]
    assert kinds == []


# Each row of the page with the row of the table that tries it.
_TRIED = {
    "`metagit_schedule_next`: preview": "next, previewed",
    "`metagit_schedule_next`: advice": "next, as advice",
    "`metagit_schedule_next`: claim": "next, taken",
    "`metagit_schedule_status`": "status of mine",
    "`metagit_schedule_policy`: show, preview": "policy, previewed",
    "`metagit_schedule_policy`: set, RFC-0012 keys": "policy, a weight",
    "`metagit_schedule_policy`: set, other keys": "policy, Organization",
    "`metagit_work_start`": "start",
    "`metagit_work_report`": "report of no lease",
    "`metagit_task_plan`": "plan in mine",
    "`metagit_task_update`": "update in mine",
    "`metagit_group_deliver`": "deliver to a Group",
    "`metagit_group_estimate`": "estimate of mine",
    "`metagit://policy`": "policy",
    "`metagit://status`": "status",
    "`metagit://decisions`": "decisions",
    "`metagit://graphs/{graph_id}`": "graph of mine",
    "`metagit://groups/{group_id}`": "Group",
    "`metagit://groups/{group_id}/outbox`": "outbox",
    "`metagit://schemas/{name}`": "schema",
    "`metagit://board`": "board",
    "`metagit://board/graphs/{graph_id}`": "board graph of mine",
    "`GET /v1/graphs/{graph_id}`": "GET /v1/graphs of mine",
    "`GET /v1/changes`": "GET /v1/board",
}


def _page_rows() -> Iterator[tuple[str, tuple[bool, ...]]]:
    """What the page says below its headings: what is asked for, and whether each role may."""
    page = (Path(__file__).parents[3] / "docs" / "reference" / "access.md").read_text(encoding="utf-8")
    for line in page.partition("## Tools")[2].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            yield cells[0], tuple(bool(cell) for cell in cells[1:])


def test_the_page_says_what_the_table_says() -> None:
    """A coordinator may where that of the task graph may, or that of the Group fed by Events."""
    of_resources = {name: marks for name, _, marks in (*RESOURCES, *REST)}
    of_others = {name: marks for name, _, marks in (*TOOLS, *ROUTES)}
    found, expected = dict(_page_rows()), {}
    for row in found:
        name = _TRIED.get(row, row.strip("`"))
        marks = (of_resources if row.startswith("`metagit://") else of_others)[name]
        viewer, agent, *own, operator = (each != "-" for each in marks)
        expected[row] = (viewer, agent, any(own), operator)
    assert found == expected
    assert len(found) > len(_TRIED)
