"""What the filter says of what it looks at, which words it knows, and where it asks the server.

Must not know: a server.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.canned import board

if TYPE_CHECKING:
    from tests.browser.canned import Canned

pytestmark = pytest.mark.browser

LONG = {**board()["totals"], "needs_person": 106, "running": 4998, "queue": 4998, "not_runnable": 109, "groups": 1003}
LISTS = ("persons", "work", "queue", "held", "groups")


def counts(canned: Canned) -> dict[str, str]:
    return {name: canned.page.locator(f"#{name}-count").inner_text() for name in LISTS}


def filter_by(canned: Canned, text: str) -> None:
    canned.page.locator("#filter").fill(text)
    canned.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_a_count_says_that_only_what_is_shown_was_looked_at(canned: Canned) -> None:
    canned.board = board(totals=LONG, truncated=True)
    canned.open()
    before = counts(canned)
    filter_by(canned, "nowhere")

    assert before == {
        "persons": "6 of 106",
        "work": "6 of 5,001",
        "queue": "5 of 4,998",
        "held": "9 of 109",
        "groups": "3 of 1,003",
    }
    assert counts(canned) == {
        "persons": "0 of the 6 shown; 106 in all",
        "work": "0 of the 6 shown; 5,001 in all",
        "queue": "0 of the 5 shown; 4,998 in all",
        "held": "0 of the 9 shown; 109 in all",
        "groups": "0 of the 3 shown; 1,003 in all",
    }


def test_a_count_of_a_whole_list_needs_no_such_word(canned: Canned) -> None:
    canned.open()
    filter_by(canned, "g:refunds")

    assert counts(canned) == {
        "persons": "1 of 6",
        "work": "3 of 6",
        "queue": "2 of 5",
        "held": "3 of 9",
        "groups": "1 of 3",
    }


def test_the_queue_of_one_group_is_asked_for_where_not_all_is_shown(canned: Canned) -> None:
    asked: list[str] = []
    canned.page.on("request", lambda request: asked.append(re.sub(r"^http://board.test", "", request.url)))
    canned.board = board(totals=LONG, truncated=True)
    own = {**board()["queue"][1], "node_id": "r77", "title": "Far behind", "place": 1}
    canned.of_groups["refunds"] = board(queue=[own], needs_person=[], totals={**LONG, "queue": 1, "needs_person": 0})
    canned.open()
    filter_by(canned, "g:refund")
    filter_by(canned, "g:Refunds")
    row = canned.page.locator("#queue > li", has_text="Far behind")
    row.wait_for()
    count = counts(canned)
    is_nobody_needed = canned.page.locator("#persons-empty").is_visible()
    canned.change(state_version="next but one")
    is_still_there = row.is_visible()
    filter_by(canned, "")
    rows = canned.page.locator("#queue > li").count()

    whole = "/v1/board?limit=100&recent=100"
    assert [url for url in asked if "board?" in url] == [
        whole,
        whole,
        f"{whole}&graph_id=refunds",
        whole,
        f"{whole}&graph_id=refunds",
    ]
    assert (count["queue"], count["persons"], is_still_there, rows) == ("1", "0", True, 5)
    assert not is_nobody_needed


def test_a_word_that_is_no_state_is_named(canned: Canned) -> None:
    canned.open()
    problem = canned.page.locator("#filter-problem")
    said = {}
    for text in ("s:blok", "s:block", "g:refunds s:", "s:done s:lost s:no"):
        filter_by(canned, text)
        said[text] = problem.inner_text()

    assert problem.get_attribute("role") == "status"
    assert said == {
        "s:blok": "s:blok: no such state; ? names all",
        "s:block": "",
        "g:refunds s:": "",
        "s:done s:lost s:no": "s:done: no such state; ? names all",
    }


def test_the_help_names_the_states(canned: Canned) -> None:
    canned.page.set_viewport_size({"width": 1280, "height": 400})
    canned.open()
    canned.page.keyboard.press("?")
    is_at_its_top = canned.page.locator("#help").evaluate("(each) => each.open && each.scrollTop === 0")
    told = canned.page.locator("#states dt").all_inner_texts()

    assert is_at_its_top
    assert told == ["the list", "work", "nodes", "Groups", "reasons", "offers", "decisions"]
    assert "not_ready, observed" in canned.page.locator("#states").inner_text()


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ("persons", "Drop the old orders table"),
        ("work", "Cart totals service"),
        ("work", "Partial refunds"),
        ("work", "Coupons"),
    ],
)
def test_g_draws_the_graph_of_any_row_about_a_node(canned: Canned, rows: str, title: str) -> None:
    canned.open()
    page = canned.page
    row = page.locator(f"#{rows} > li", has_text=title)
    row.locator("summary").focus()
    page.keyboard.press("g")
    page.wait_for_selector("#picture-place svg")
    graph = "refunds" if title == "Partial refunds" else "checkout"

    assert row.get_by_role("link", name="Draw its graph").is_visible()
    assert page.evaluate("() => location.hash") == f"#graph={graph}"


def test_a_command_to_type_is_said_once(canned: Canned) -> None:
    canned.board = board(viewer={"may": [], "name": "eve", "role": "viewer"})
    canned.open()
    said = {}
    for title, command in (("Load test", "schedule policy set"), ("Migrate ledger rows", "work retry r5")):
        row = canned.page.locator("#persons > li", has_text=title)
        row.locator("summary").click()
        said[title] = row.inner_text().count(command)

    assert said == {"Load test": 1, "Migrate ledger rows": 1}


def test_numbers_say_what_they_are(canned: Canned) -> None:
    canned.board = board(slots={"in_use": 3})
    canned.open()
    page = canned.page
    first = canned.board["groups"][0]

    assert " ".join(page.locator("#limit-rows > li").first.inner_text().split()) == "Slots 3 in use, no limit Pause"
    assert page.locator("#groups .shares").first.inner_text() == (
        f"got {100 * first['received']:.0f}%, due {100 * first['guaranteed']:.0f}%"
    )
