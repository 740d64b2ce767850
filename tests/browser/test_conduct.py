"""How the page behaves while things change: it keeps what the reader has in hand, and says when it knows nothing new.

Must not know: a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.canned import CHANGED, board

if TYPE_CHECKING:
    from tests.browser.canned import Canned

pytestmark = pytest.mark.browser

REFUSED = {"code": "AUTH_REQUIRED", "message": "Who are you?", "hint": "Send a token.", "retryable": False}


def test_a_change_keeps_focus_folds_and_place(canned: Canned) -> None:
    canned.page.set_viewport_size({"width": 1280, "height": 400})
    canned.open()
    page = canned.page
    third = page.locator("#queue > li", has_text="Gift cards")
    third.locator("summary").click()
    scrolled = page.evaluate("() => scrollY")
    queue = [{**card, "score": 9.5} for card in canned.board["queue"] if card["node_id"] in {"c10", "c12"}]
    canned.change(queue=queue)

    assert "9.500" in third.inner_text()
    assert third.locator("details").evaluate("(each) => each.open")
    assert "Gift cards" in page.locator(":focus").inner_text()
    assert scrolled > 0
    assert page.locator("#queue > li").count() == 2


def test_what_did_not_change_is_not_drawn_again(canned: Canned) -> None:
    canned.open()
    page = canned.page
    page.evaluate("() => document.querySelectorAll('#panels li').forEach((each) => (each.dataset.seen = 'before'))")
    canned.change(queue=[{**card, "score": 1.0} if card["place"] == 1 else card for card in canned.board["queue"]])

    assert page.locator("#panels li[data-key]:not([data-seen])").all_inner_texts() != []
    assert page.locator("#panels li[data-key]:not([data-seen])").count() == 1


def test_changes_are_said_to_those_who_do_not_see_them(canned: Canned) -> None:
    canned.open()
    news = canned.page.locator("#news")
    assert (news.get_attribute("aria-live"), news.inner_text()) == ("polite", "")
    more = {**canned.board["running"][0], "node_id": "c7", "agent_id": "claude-9"}
    totals = {**canned.board["totals"], "needs_person": 7}
    canned.change(running=[*canned.board["running"], more], totals=totals)

    assert news.inner_text() == "claude-9 works on c7. 7 wait for a person."
    assert canned.page.title() == "(7) metagit"


def test_without_a_right_there_is_no_button(canned: Canned) -> None:
    canned.board = board(viewer={"may": [], "name": "eve", "role": "viewer"})
    canned.open()

    assert canned.page.locator("#panels button").count() == 0
    assert canned.page.locator("#persons > li").count() == 6


def test_an_approval_wants_the_id_typed_and_tells_why_it_was_refused(canned: Canned, complaints: list[str]) -> None:
    canned.refusals["/v1/approve"] = (409, {"code": "X", "message": "It changed since.", "hint": "Look again."})
    canned.open()
    page = canned.page
    page.get_by_role("button", name="Approve c9").click()
    yes = page.locator("#confirm-yes")
    was_ready = yes.is_enabled()
    page.keyboard.type("c99")
    page.keyboard.press("Enter")
    is_open = page.locator("#confirm").is_visible()
    page.keyboard.press("Backspace")
    yes.click()
    page.wait_for_selector("#confirm-error:not(:empty)")

    assert (was_ready, is_open, canned.sent) == (False, True, [])
    assert page.locator("#confirm-error").inner_text() == "It changed since. Look again."
    assert [each for each in complaints if "409" not in each] == []
    complaints.clear()


@pytest.mark.parametrize(("verdict", "accept"), [("accepted", True), ("rejected", False)])
def test_a_review_says_whether_and_why(canned: Canned, verdict: str, *, accept: bool) -> None:
    canned.open()
    page = canned.page
    page.get_by_role("button", name="Review c3").click()
    page.get_by_label(verdict).check()
    page.get_by_label("Note").fill("  as agreed ")
    page.keyboard.press("Enter")
    page.wait_for_selector("#confirm", state="hidden")

    body = {"graph_id": "checkout", "node_id": "c3", "accept": accept, "note": "as agreed"}
    assert canned.sent == [("POST", "/v1/review", body, "1")]


def test_other_acts_send_what_they_name(canned: Canned) -> None:
    canned.open()
    page = canned.page
    for name in ("Resume group docs", "Retry r5", "Pause the workspace"):
        page.get_by_role("button", name=name).click()
        page.locator("#confirm-yes").click()
        page.wait_for_selector("#confirm", state="hidden")

    assert canned.sent == [
        ("POST", "/v1/resume", {"scope": "group", "name": "docs"}, "1"),
        ("POST", "/v1/retry", {"graph_id": "refunds", "node_id": "r5"}, "1"),
        ("POST", "/v1/pause", {"scope": "workspace", "name": "", "reason": ""}, "1"),
    ]


def test_a_token_is_posted_once_and_kept_nowhere(canned: Canned) -> None:
    canned.signed_in = False
    canned.open()
    page = canned.page
    assert page.locator("#panels").is_hidden()
    page.keyboard.type("mgt_secret")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#token').value === ''")
    kept = page.evaluate("() => [document.cookie, JSON.stringify({...localStorage, ...sessionStorage}), location.href]")

    assert canned.sent == [("POST", "/v1/session", {"token": "mgt_secret"}, "1")]
    assert kept == ["", "{}", "http://board.test/"]
    assert page.locator("#token").input_value() == ""


def test_signing_out_leaves_nothing_behind(canned: Canned) -> None:
    canned.open()
    page = canned.page
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_selector("#sign-in:not([hidden])")

    assert canned.sent == [("DELETE", "/v1/session", {}, "1")]
    assert page.title() == "metagit"
    assert page.locator("#panels li[data-key]").count() == 0
    assert page.locator(":focus").get_attribute("id") == "token"


def test_a_token_that_ended_leads_back_to_the_form(canned: Canned, complaints: list[str]) -> None:
    canned.open()
    canned.refusals["/v1/board"] = (401, REFUSED)
    canned.change()
    canned.page.wait_for_selector("#sign-in:not([hidden])")

    assert canned.page.locator("#panels").is_hidden()
    assert [each for each in complaints if "401" not in each] == []
    complaints.clear()


def test_a_lost_connection_is_said_and_comes_back_by_itself(canned: Canned, complaints: list[str]) -> None:
    canned.open()
    page = canned.page
    canned.go_down()
    page.wait_for_selector("#link[data-state=lost]")
    banner = page.locator("#banner").inner_text()
    still = page.locator("#queue > li").count()
    canned.board["ready_count"] = 77
    canned.come_back()
    page.wait_for_selector("#link[data-state=live]")

    assert banner.startswith("Connection lost: this is the state of 11:00. Next attempt in ")
    assert still == 5
    assert page.locator("#banner").is_hidden()
    assert "77 ready" in page.locator("#figures").inner_text()
    assert [each for each in complaints if "ERR_CONNECTION_REFUSED" not in each] == []
    complaints.clear()


def test_many_changes_at_once_are_one_question(canned: Canned) -> None:
    canned.open()
    asked: list[str] = []
    canned.page.on("request", lambda request: asked.append(request.url))
    with canned.page.expect_response("**/v1/board?*"):
        canned.page.evaluate(f"() => {{ for (let n = 0; n < 50; n += 1) ({CHANGED})(); }}")
    canned.change()

    assert 2 <= len(asked) <= 3


def test_a_graph_is_drawn_in_waves_with_its_critical_chain(canned: Canned) -> None:
    canned.open()
    page = canned.page
    page.locator("#groups summary").first.click()
    page.get_by_role("link", name="Draw its graph").first.click()
    page.wait_for_selector("#picture-place svg")

    assert (
        page.locator("#picture-title").inner_text()
        == "Checkout rewrite: 7 nodes in 4 waves, the critical chain takes 90m"
    )
    assert page.locator("#picture-title").evaluate("(each) => each === document.activeElement")
    assert page.locator("g.node.critical title").all_text_contents() == [
        "c4: Task c4 (ready)",
        "c6: Task c6 (pending)",
        "c9: Task c9 (awaiting approval)",
    ]
    assert page.locator(".edge.critical").count() == 2
    assert page.locator(".edge.discovered").evaluate("(each) => getComputedStyle(each).strokeDasharray") != "none"
    columns = page.locator("g.node").evaluate_all(
        "(all) => all.map((each) => Math.round(each.getBoundingClientRect().x))"
    )
    assert len(set(columns)) == 4
    page.get_by_role("link", name="Close").click()
    page.wait_for_selector("#picture", state="hidden")
