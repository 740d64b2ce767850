"""The board of a server that is started as an operator starts it, while agents and people do their work beside it.

Must not know: how the page is made.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.browser.fleet import Fleet
from tests.interop.http_server import served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.browser

WITHIN_S = 1.0
# The instant at which a row came to stand in a list, by the clock that this machine's processes share.
WATCH = """
window.came = {};
new MutationObserver(() => {
  for (const row of document.querySelectorAll("#work > li")) window.came[row.dataset.key] ??= Date.now() / 1000;
}).observe(document.getElementById("work"), { childList: true });
"""
REFUSED = """async (body) => {
  const headers = { "Content-Type": "application/json", "X-Metagit-Board": "1" };
  const response = await fetch("/v1/approve", { method: "POST", headers, body: JSON.stringify(body) });
  return [response.status, (await response.json()).code];
}"""


@dataclass(frozen=True)
class Live:
    """A server, its workspace, and an operator's token."""

    url: str
    fleet: Fleet
    operator: str


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    fleet.plan()
    operator = fleet.token("ada", "operator")
    with served(fleet.root, tmp_path_factory.mktemp("server") / "log") as url:
        yield Live(url, fleet, operator)


def sign_in(page: Page, url: str, token: str) -> None:
    page.goto(url)
    page.get_by_label("Access token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_selector("#link[data-state=live]")


def test_a_token_becomes_a_cookie_that_no_script_reads(live: Live, page: Page, context: BrowserContext) -> None:
    sign_in(page, live.url, live.operator)
    [cookie] = context.cookies()
    is_kept = {"httpOnly": cookie["httpOnly"], "sameSite": cookie["sameSite"], "seen": page.evaluate("document.cookie")}
    page.reload()
    page.wait_for_selector("#link[data-state=live]")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_selector("#sign-in:not([hidden])")

    assert is_kept == {"httpOnly": True, "sameSite": "Strict", "seen": ""}
    assert context.cookies() == []


def test_a_claim_of_another_process_is_seen_within_a_second(live: Live, page: Page) -> None:
    sign_in(page, f"{live.url}/", live.operator)
    page.evaluate(f"() => {{ {WATCH} }}")
    node, late = "", []
    for agent in ("claude-1", "codex-1", "claude-2"):
        node = live.fleet.claim(agent)
        done = time.time()
        row = page.locator("#work > li", has_text=agent)
        row.wait_for()
        came = page.evaluate("(key) => window.came[key]", row.get_attribute("data-key"))
        late.append(came - done)
        assert node in row.inner_text()

    assert statistics.median(late) <= WITHIN_S, late
    assert page.locator("#work-count").inner_text() == "3"
    assert page.locator("#news").inner_text() == f"claude-2 works on {node}."


def test_an_operator_approves_on_the_page(live: Live, page: Page) -> None:
    sign_in(page, live.url, live.operator)
    page.get_by_role("button", name="Approve orders").click()
    page.keyboard.type("orders")
    page.keyboard.press("Enter")
    page.wait_for_selector("#persons-empty:not([hidden])")
    page.wait_for_selector("#queue > li:has-text('Drop the old orders table')")
    shown = live.fleet.run("schedule", "explain", "orders")

    assert page.title() == "metagit"
    assert shown["explain"]["reasons"] == []


def test_an_operator_pauses_and_resumes_on_the_page(live: Live, page: Page) -> None:
    sign_in(page, live.url, live.operator)
    page.get_by_role("button", name="Pause the workspace").click()
    page.get_by_label("Reason").fill("Release in progress")
    page.keyboard.press("Enter")
    resume = page.get_by_role("button", name="Resume workspace")
    resume.wait_for()
    [pause] = live.fleet.run("schedule", "status")["pauses"]
    resume.click()
    page.locator("#confirm-yes").click()
    resume.wait_for(state="detached")

    assert (pause["by"], pause["note"]) == ("ada", "Release in progress")
    assert live.fleet.run("schedule", "status")["pauses"] == []


def test_a_viewer_has_no_button_and_is_refused_by_the_server(live: Live, page: Page, complaints: list[str]) -> None:
    body = {"graph_id": "shop", "node_id": "orders", "digest": "0" * 64}
    page.goto(f"{live.url}/#token={live.fleet.token('eve', 'viewer')}")
    page.wait_for_selector("#queue > li")

    assert page.url == f"{live.url}/"
    assert page.locator("#panels button").count() == 0
    assert page.evaluate(REFUSED, body) == [403, "AUTH_FORBIDDEN"]
    assert [each for each in complaints if "403" not in each] == []
    complaints.clear()


def test_a_wrong_token_is_refused_and_a_revoked_one_ends(live: Live, page: Page, complaints: list[str]) -> None:
    page.goto(live.url)
    page.get_by_label("Access token").fill("mgt_wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#sign-in-error:not(:empty)")
    sign_in(page, live.url, live.fleet.token("mallory", "viewer"))
    [token] = [each for each in live.fleet.run("token", "list")["tokens"] if each["subject"] == "mallory"]
    live.fleet.run("token", "revoke", token["token_id"], "--operator", "ada")
    page.reload()
    page.wait_for_selector("#sign-in:not([hidden])")

    assert page.locator("#panels").is_hidden()
    assert [each for each in complaints if "401" not in each] == []
    complaints.clear()


def test_each_graph_is_drawn(live: Live, page: Page) -> None:
    sign_in(page, live.url, live.operator)
    page.goto(f"{live.url}/#graph=search")
    page.wait_for_selector("#picture-place svg")

    assert page.locator("#picture-title").inner_text().startswith("Search: 3 nodes in 2 waves")
    assert [title.split(":")[0] for title in page.locator("g.node title").all_text_contents()] == [
        "index",
        "rank",
        "typos",
    ]


def test_a_broken_policy_is_said_until_it_is_mended(live: Live, page: Page, complaints: list[str]) -> None:
    live.fleet.run("schedule", "policy", "set", "--patch", '{"slots": 9}', "--operator", "ada")
    [policy] = live.fleet.root.rglob("policy.json")
    whole = policy.read_bytes()
    sign_in(page, live.url, live.operator)
    policy.write_text("{", encoding="utf-8")
    page.wait_for_selector("#link-text:text-is('error')")
    banner = page.locator("#banner").inner_text()
    policy.write_bytes(whole)
    page.wait_for_selector("#link[data-state=live]")

    assert "policy.json" in banner
    assert "Connection lost" not in banner
    assert page.locator("#banner").is_hidden()
    assert [each for each in complaints if "500" not in each] == []
    complaints.clear()
