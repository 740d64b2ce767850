"""What a board for fleets of agents must do: ten requirements, each with its test.

Must not know: a server. What the answers say is tested where they are made.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.canned import board

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.browser.canned import Canned

pytestmark = pytest.mark.browser


def texts(page: Page, rows: str) -> list[str]:
    """What each row of a list says, in one line each, as far as it is seen."""
    return [" ".join(row.inner_text().split()) for row in page.locator(f"#{rows} > li").all()]


def row(page: Page, rows: str, words: str) -> Locator:
    return page.locator(f"#{rows} > li", has_text=words)


def test_requirement_01_what_needs_a_person_comes_first_the_oldest_on_top_and_is_counted_in_the_title(
    canned: Canned,
) -> None:
    canned.open()
    page = canned.page

    assert page.title() == "(6) metagit"
    assert page.locator("#panels section h2").all_inner_texts()[:4] == [
        "Slots, budgets and resources",
        "Waits for a person 6",
        "At work 6",
        "Queue, in dispatch order 5",
    ]
    approval = "waiting 3h awaiting_approval checkout/c9 Drop the old orders table Approve Then still: "
    retry = "waiting 40m blocked(failed) refunds/r5 Migrate ledger rows Retry Then still: "
    assert texts(page, "persons") == [
        "waiting 26h paused(group docs, by ana) docs Resume",
        f"{approval}not_ready(unfinished c4) deferred(2026-11-30T18:00:00Z) in 7h",
        "waiting 47m awaiting_review checkout/c3 Idempotent payment intents Review",
        f"{retry}paused(resource stripe-test, by ana, until 2026-11-30T12:00:00Z) in 60m",
        "never_fits(6 slots, limit 4) checkout/c11 Load test metagit-mcp schedule policy set --patch '{\"slots\": 6}'",
        "graph_invalid broken .metagit/tasks/graphs/broken.json",
    ]


def test_requirement_01_when_nobody_is_needed_the_board_says_so(canned: Canned) -> None:
    canned.board = board(needs_person=[], totals={**board()["totals"], "needs_person": 0})
    canned.open()

    assert canned.page.title() == "metagit"
    assert canned.page.locator("#persons-empty").inner_text() == "Nobody is waiting for you."
    assert canned.page.locator("#persons-empty").is_visible()


def test_requirement_02_the_queue_is_there_whole_in_dispatch_order_with_the_reason(canned: Canned) -> None:
    canned.open()

    assert texts(canned.page, "queue") == [
        "1 checkout/c7 Address validation starts next 3.200",
        "2 refunds/r4 Partial refunds starts next deadline in 5h 1.700",
        "3 checkout/c10 Gift cards no_slot(4/4) 1.250",
        "4 refunds/r6 Refund mails exclusive(mail-sandbox, held by c5) no_slot(4/4) 0.600",
        "5 checkout/c12 Wish list no_slot(4/4) 0.200",
    ]
    why = row(canned.page, "queue", "Address validation")
    why.locator("summary").click()
    assert "priority=2*1.0, urgency=high, affinity=warm" in why.inner_text()


def test_requirement_03_every_reason_is_said_at_once_and_what_the_button_does_not_end(canned: Canned) -> None:
    canned.open()
    page = canned.page

    assert row(page, "held", "Drop the old orders table").locator("summary .chip").all_inner_texts() == [
        "not_ready(unfinished c4)",
        "deferred(2026-11-30T18:00:00Z) in 7h",
        "awaiting_approval",
    ]
    page.get_by_role("button", name="Approve c9").click()
    asked = page.get_by_role("dialog")
    assert "Not ended by it: not_ready(unfinished c4) deferred(2026-11-30T18:00:00Z) in 7h" in asked.inner_text()


def test_requirement_04_no_card_is_held_back_without_a_reason(canned: Canned) -> None:
    canned.open()
    rows = canned.page.locator("#held > li").all()

    assert [each.locator("summary .chip").count() for each in rows] == [
        len(card["reasons"]) for card in canned.board["not_runnable"]
    ]
    assert all(each.locator("summary .chip").count() for each in rows)


def test_requirement_05_state_and_proof_of_life_are_two_marks_and_the_last_proof_is_said(canned: Canned) -> None:
    canned.open()
    marks = canned.page.locator("#work .running .mark")

    assert [(each.get_attribute("data-state"), each.get_attribute("data-proof")) for each in marks.all()] == [
        ("working", "live"),
        ("asked_to_pause", "late"),
        ("seen", "overdue"),
    ]
    colours = marks.evaluate_all("(all) => all.map((each) => getComputedStyle(each).color)")
    shapes = marks.evaluate_all(
        "(all) => all.map((each) => [...each.children].slice(1).map((part) => part.outerHTML).join())"
    )
    assert (len(set(colours)), len(set(shapes))) == (3, 3)
    assert texts(canned.page, "work")[2:5] == [
        "claude-1 checkout/c5 Cart totals service ends in 12m heard 40s ago",
        "codex-1 checkout/c6 Tax rules asked to pause at a safe point ends in 4m connected 11m ago",
        "old-script refunds/r2 Import the March refunds runs elsewhere, as a file says in a file 2d ago",
    ]


def test_requirement_06_lost_is_a_state_of_its_own_and_an_intended_pause_looks_different(canned: Canned) -> None:
    canned.open()
    page = canned.page
    lost, paused = row(page, "work", "Partial refunds"), row(page, "work", "Coupons")

    assert " ".join(lost.inner_text().split()) == "claude-3 refunds/r4 Partial refunds lost 9m ago"
    mechanism = "its lease ended without a word of its agent, and nobody is on it. Look at what was done before"
    assert (lost.locator(".chip.lost").get_attribute("title") or "").startswith(mechanism)
    assert " ".join(paused.inner_text().split()) == "claude-2 checkout/c8 Coupons paused kept in 40m 20m ago"
    looks = [
        (
            each.locator(".mark").get_attribute("data-proof"),
            each.evaluate("(row) => getComputedStyle(row).backgroundColor"),
        )
        for each in (lost, paused)
    ]
    assert looks[0][0] == "lost"
    assert looks[1][0] == "paused"
    assert looks[0][1] != looks[1][1]


def test_requirement_07_times_are_said_as_people_read_them_and_exactly_on_hover(canned: Canned) -> None:
    canned.open()
    page = canned.page
    until = row(page, "work", "Cart totals service").locator("time").first

    assert (until.inner_text(), until.get_attribute("title")) == ("in 12m", "30 Nov 2026, 11:12:00")
    page.clock.set_fixed_time("2026-11-30T11:12:00Z")
    page.wait_for_function("(each) => each.textContent === 'due now'", arg=until.element_handle())
    finished = row(page, "decisions", "Session store")
    assert " ".join(finished.inner_text().split()) == "09:00 checkout/c2 Session store claude-2 completed after 55m"
    assert row(page, "decisions", "Cart totals").locator("time").inner_text() == "30m ago"


def test_requirement_08_slots_pools_and_budgets_are_at_the_top_with_their_period(canned: Canned) -> None:
    canned.open()

    assert texts(canned.page, "limit-rows") == [
        "Slots 3 of 4 2 kept for checkout/c11 Pause",
        "Paused resource stripe-test by ana, ends in 60m Resume",
        "openai 2 of 4 closed, opens in 5m",
        "stripe-test 0 of 1",
        "mail-sandbox with checkout/c5",
        "Merges shop/api 4 of 3 holds work back",
        "checkout/c5 48k of 60k tokens 37 of 200 tool calls over the life of the node",
        "refunds/r5 20k of 20k tokens over the life of the node used up",
    ]
    assert row(canned.page, "work", "Cart totals service").locator("summary").inner_text().count("cost") == 0


def test_requirement_09_one_answer_is_all_that_the_board_asks_for_and_a_fold_hides_no_failure(canned: Canned) -> None:
    asked: list[str] = []
    canned.page.on("request", lambda request: asked.append(re.sub(r"^http://board.test", "", request.url)))
    canned.open()
    canned.page.wait_for_selector("#decisions > li:nth-child(5)")

    assert [url for url in asked if "board" in url] == ["/v1/board?limit=100&recent=100"]
    assert {url.partition("?")[0] for url in asked} <= {"/", "/v1/session", "/v1/board", "/v1/changes"}
    folded = canned.page.locator("details[open]").count()
    said = " ".join(texts(canned.page, "persons") + texts(canned.page, "work") + texts(canned.page, "decisions"))
    assert folded == 0
    assert [
        word for word in ("blocked(failed)", "awaiting_review", "lost", "expired after 30m") if word not in said
    ] == []


def test_requirement_10_all_can_be_done_by_the_keyboard(canned: Canned) -> None:
    canned.open()
    page, press = canned.page, canned.page.keyboard.press
    focused = page.locator(":focus")

    press("/")
    page.keyboard.type("g:refunds a:claude-3 s:lost")
    page.wait_for_function("() => document.querySelectorAll('#queue > li').length === 0")
    assert texts(page, "work") == ["claude-3 refunds/r4 Partial refunds lost 9m ago"]
    press("Escape")
    page.wait_for_function("() => document.querySelectorAll('#persons > li').length === 6")
    press("j")
    press("j")
    press("j")
    press("k")
    assert "Drop the old orders table" in focused.inner_text()
    press("Enter")
    assert "destructive" in row(page, "persons", "Drop the old").inner_text()
    press("a")
    page.keyboard.type("c9")
    press("Enter")
    page.wait_for_selector("#confirm", state="hidden")
    body = {"graph_id": "checkout", "node_id": "c9", "digest": "9f2c" * 16}
    assert canned.sent == [("POST", "/v1/approve", body, "1")]
    press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()


def test_requirement_10_the_board_says_what_a_word_to_a_card_reaches(canned: Canned) -> None:
    canned.open()
    page = canned.page
    said = {}
    for rows, words in (("work", "Cart totals service"), ("work", "Partial refunds"), ("decisions", "Session store")):
        row(page, rows, words).locator("summary").click()
        said[words] = row(page, rows, words).locator("dd").last.inner_text()

    assert said == {
        "Cart totals service": "claude-1 hears of a change at its next report or renewal.",
        "Partial refunds": "Its agent lost the lease: what it reports now is kept as evidence and changes nothing.",
        "Session store": "This node is finished: nobody reads what is said to it.",
    }
