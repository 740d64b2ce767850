"""An error that the server answers is no lost connection: it is said, asked about again soon, and gone once mended.

Must not know: a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.canned import Canned

pytestmark = pytest.mark.browser

BROKEN = {
    "code": "POLICY_INVALID",
    "message": "policy.json is no JSON: line 3.",
    "hint": "Mend it, or take it away.",
    "retryable": False,
}
SAID = "policy.json is no JSON: line 3. Mend it, or take it away."
# The page asks again every 2 s, and has some time to draw. The fourth attempt at the stream alone would come after 7 s.
SOON_MS = 3_500
LISTEN = """() => {
  const banner = document.querySelector("#banner");
  window.texts = [];
  new MutationObserver(() => texts.push(banner.textContent)).observe(banner, { childList: true });
}"""


def wait_for_trouble(page: Page) -> str:
    page.wait_for_selector("#banner:not([hidden])")
    text: str = page.locator("#banner").inner_text()
    return text


def only_refusals(complaints: list[str]) -> None:
    assert [each for each in complaints if "500" not in each] == []
    complaints.clear()


def test_an_error_is_said_with_its_hint_and_what_was_seen_stays(canned: Canned, complaints: list[str]) -> None:
    canned.open()
    page = canned.page
    page.evaluate(LISTEN)
    canned.fail(500, BROKEN)
    banner = wait_for_trouble(page)
    for _ in range(2):
        with page.expect_response("**/v1/board?*", timeout=SOON_MS):
            pass
    texts = page.evaluate("() => texts")

    assert banner == f"{SAID} This is the state of 11:00."
    assert texts == [banner]
    assert page.locator("#banner").get_attribute("role") == "status"
    assert page.locator("#link-text").inner_text() == "error"
    assert page.locator("#queue > li").count() == 5
    only_refusals(complaints)


def test_once_mended_the_board_and_its_changes_are_back_at_once(canned: Canned, complaints: list[str]) -> None:
    canned.open()
    page = canned.page
    canned.fail(500, BROKEN)
    wait_for_trouble(page)
    # Attempts at the stream fail, and each comes later than the one before.
    page.wait_for_function("() => streams >= 3")
    canned.board["ready_count"] = 77
    canned.mend()
    page.wait_for_selector("#banner", state="hidden", timeout=SOON_MS)
    streams = page.evaluate("() => streams")
    canned.change(ready_count=78)

    assert page.locator("#link-text").inner_text() == "live"
    assert "78 ready" in page.locator("#figures").inner_text()
    assert streams == 4
    only_refusals(complaints)


def test_a_page_opened_meanwhile_says_it_and_comes_by_itself(canned: Canned, complaints: list[str]) -> None:
    canned.refusals["/v1/board"] = (500, BROKEN)
    canned.open(shows="#banner")
    banner = wait_for_trouble(canned.page)
    canned.mend()
    canned.page.wait_for_selector("#panels", timeout=SOON_MS)

    assert banner == SAID
    assert canned.page.locator("#banner").is_hidden()
    only_refusals(complaints)


def test_a_stream_that_ends_alone_is_opened_again_without_a_word(canned: Canned) -> None:
    canned.open()
    page = canned.page
    canned.board["ready_count"] = 77
    page.evaluate("() => stream.dispatchEvent(new Event('error'))")
    page.wait_for_function("() => streams === 2")

    assert page.locator("#banner").is_hidden()
    assert page.locator("#link-text").inner_text() == "live"
    assert "77 ready" in page.locator("#figures").inner_text()
