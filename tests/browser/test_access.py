"""The board is usable without a mouse, by a screen reader, on a phone, in the dark: checked by axe, and by its size.

Must not know: a server.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.canned import Canned

pytestmark = pytest.mark.browser

CHECK = """async () => {
  const found = await axe.run(document);
  if (found.passes.length < 20) return "it looked at nothing";
  const where = (each) => each.nodes.slice(0, 3).map((node) => node.html + node.failureSummary);
  return found.violations.map((each) => [each.id, where(each)]);
}"""


def violations(page: Page, axe: str) -> Any:  # noqa: ANN401 - what axe found, as JSON
    page.evaluate(axe)
    return page.evaluate(CHECK)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_board_has_no_barrier(canned: Canned, axe: str, scheme: Any) -> None:  # noqa: ANN401 - a literal
    canned.page.emulate_media(color_scheme=scheme)
    canned.open("#graph=checkout")
    page = canned.page
    page.wait_for_selector("#picture-place svg")
    page.evaluate("() => document.querySelectorAll('details').forEach((each) => (each.open = true))")
    page.wait_for_function("() => [...document.querySelectorAll('.more')].every((each) => each.childElementCount)")

    assert violations(page, axe) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forms_and_dialogs_have_no_barrier(canned: Canned, axe: str, scheme: Any) -> None:  # noqa: ANN401 - a literal
    canned.page.emulate_media(color_scheme=scheme)
    canned.open()
    page = canned.page
    found = {}
    page.get_by_role("button", name="Approve c9").click()
    found["approve"] = violations(page, axe)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    found["help"] = violations(page, axe)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_selector("#sign-in:not([hidden])")
    found["sign-in"] = violations(page, axe)

    assert found == {"approve": [], "help": [], "sign-in": []}


def test_every_row_and_button_is_reached_by_tab_and_shows_it(canned: Canned) -> None:
    canned.open()
    page = canned.page
    reached, unseen = [], []
    for _ in range(60):
        page.keyboard.press("Tab")
        where = page.evaluate(
            "() => { const at = document.activeElement; const look = getComputedStyle(at);"
            " return [at.closest('[data-list]')?.dataset.list, at.dataset.part, at.tagName, look.outlineStyle]; }"
        )
        if where[2] == "BODY":
            break
        reached.append(tuple(where[:2]))
        unseen += [where] if where[3] == "none" else []

    rows = {
        name: page.locator(f"[data-list={name}] > li").count()
        for name in ("persons", "work", "queue", "held", "groups")
    }
    assert unseen == []
    assert {name: reached.count((name, "line")) for name in rows} == rows
    assert reached.count(("persons", "act")) == 4


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_screen(canned: Canned, width: int) -> None:
    canned.page.set_viewport_size({"width": width, "height": 780})
    canned.open("#graph=checkout")
    page = canned.page
    page.wait_for_selector("#picture-place svg")
    page.get_by_role("button", name="Approve c9").click()
    sizes = page.evaluate(
        "() => [document.documentElement.scrollWidth,"
        " Math.ceil(document.querySelector('#confirm').getBoundingClientRect().right)]"
    )

    assert max(sizes) <= width, json.dumps(sizes)
