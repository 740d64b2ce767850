"""Titles, notes and names are other people's texts: they are shown as they are, and do nothing.

Must not know: a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.canned import board, picture

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.canned import Canned

pytestmark = pytest.mark.browser

HOSTILE = '<img src=x onerror="window.hurt=1"></bdi></li><script>window.hurt=1</script>{{7*7}}${7*7}&lt;\u202egnihton'
WORDS = (
    "title",
    "note",
    "summary",
    "agent_id",
    "repository",
    "goal",
    "text",
    "closed_by",
    "by",
    "name",
    "command",
    "path",
)


def hostile(part: Any) -> Any:  # noqa: ANN401 - any part of an answer
    """The same, with every free text replaced."""
    if isinstance(part, list):
        return [hostile(each) for each in part]
    if isinstance(part, dict):
        return {key: HOSTILE if key in WORDS and isinstance(each, str) else hostile(each) for key, each in part.items()}
    return part


def unfold(page: Page) -> None:
    page.evaluate("() => document.querySelectorAll('#panels details').forEach((each) => (each.open = true))")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#panels .more')].every((each) => each.childElementCount)"
    )


def test_texts_with_markup_script_and_marks_of_direction_are_only_texts(canned: Canned) -> None:
    canned.board = hostile(board(warnings=[HOSTILE], viewer={"may": ["judge", "pause"]}))
    canned.open()
    page = canned.page
    unfold(page)
    page.get_by_role("button", name="Approve c9").click()

    assert page.evaluate("() => window.hurt") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert page.locator("#persons bdi.title").first.evaluate("(each) => each.textContent") == HOSTILE
    assert (
        page.locator("#persons bdi.title").first.evaluate("(each) => getComputedStyle(each).unicodeBidi") == "isolate"
    )
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_picture_of_hostile_titles_is_a_picture(canned: Canned) -> None:
    canned.refusals["/v1/graphs/checkout"] = (200, hostile(picture()))
    canned.open("#graph=checkout")
    page = canned.page
    page.wait_for_selector("#picture-place svg")
    page.get_by_text("In words").click()
    page.wait_for_selector("#picture-place li")

    assert page.evaluate("() => window.hurt") is None
    assert page.locator("#picture-place img").count() == 0
    assert (
        page.locator("#picture-place g.node title").first.evaluate("(each) => each.textContent")
        == f"c1: {HOSTILE} (completed)"
    )


@pytest.mark.parametrize(
    "attempt",
    [
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hurt=1'}))",
        "document.body.innerHTML = '<b>hurt</b>'",
        "document.body.setAttribute('onclick', 'window.hurt=1'); document.body.click()",
        "setTimeout(() => (window.hurt = new Function('return 1')()))",
        "void fetch('http://elsewhere.test/').then(() => (window.hurt = 1))",
        "Object.assign(new Image(), {src: 'http://elsewhere.test/x.png', onload: () => (window.hurt = 1)})",
    ],
)
def test_the_policy_stops_what_a_mistake_would_let_in(canned: Canned, complaints: list[str], attempt: str) -> None:
    canned.open()
    page = canned.page
    page.evaluate("() => document.addEventListener('securitypolicyviolation', () => (window.stopped = true))")
    page.evaluate(f"() => {{ try {{ {attempt} }} catch {{ }} }}")
    page.wait_for_function("() => window.stopped")

    assert page.evaluate("() => window.hurt") is None
    assert complaints != []
    complaints.clear()
