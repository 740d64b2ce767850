"""The same page as an MCP App: a host puts it into a frame and passes its questions on to the server.

Must not know: a server, nor a real host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.interfaces.board.page import board_page
from tests.browser.canned import board, picture

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Frame, Page

pytestmark = pytest.mark.browser

BOARD = "metagit://board"
HOST = """([html, answers]) => {
  window.answers = answers;
  window.asked = [];
  addEventListener("message", ({ source, data }) => {
    window.asked.push([data.method, data.params.uri ?? null]);
    if (data.id === undefined) return;
    const text = () => JSON.stringify(window.answers[data.params.uri]);
    const told = () => ({ contents: [{ uri: data.params.uri, text: text() }] });
    const hello = { protocolVersion: "2026-01-26", hostInfo: {}, hostCapabilities: {}, hostContext: { theme: "dark" } };
    const result = data.method === "ui/initialize" ? hello : told();
    source.postMessage({ jsonrpc: "2.0", id: data.id, result }, "*");
  });
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts";
  frame.srcdoc = html;
  frame.width = 900;
  frame.height = 600;
  document.body.append(frame);
}"""
ANSWERED = "() => frames[0].postMessage({ jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: {} }, '*')"


@pytest.fixture
def host(shared: BrowserContext, page: Page) -> Page:
    """An empty page of a host."""
    shared.clock.set_fixed_time("2026-11-30T11:00:00Z")
    page.route("http://host.test/", lambda route: route.fulfill(content_type="text/html", body="<!doctype html>"))
    page.goto("http://host.test/")
    return page


def shown(host: Page) -> Frame:
    """The frame with the board in it, once it is drawn."""
    answers: dict[str, Any] = {BOARD: board(), f"{BOARD}/graphs/checkout": picture()}
    host.evaluate(HOST, [board_page().document, answers])
    frame = host.frames[1]
    frame.wait_for_selector("#panels:not([hidden])")
    return frame


def test_a_host_shows_the_board_and_no_button(host: Page) -> None:
    frame = shown(host)

    assert frame.locator("#persons > li").count() == 6
    assert frame.locator("#panels button").count() == 0
    assert frame.locator("#sign-out").is_hidden()
    assert frame.evaluate("() => getComputedStyle(document.documentElement).backgroundColor") == "rgb(19, 20, 22)"
    assert host.evaluate("() => asked.slice(0, 2)") == [["ui/initialize", None], ["ui/notifications/initialized", None]]
    assert ["ui/notifications/size-changed", None] in host.evaluate("() => asked")


def test_an_answer_of_the_tool_brings_it_up_to_date(host: Page) -> None:
    frame = shown(host)
    host.evaluate(
        "(changed) => { window.answers['metagit://board'] = changed; }", board(ready_count=77, state_version="n")
    )
    host.evaluate(ANSWERED)
    frame.wait_for_function("() => document.querySelector('#figures').textContent.includes('77 ready')")

    assert frame.locator("#link-text").inner_text() == "live"


def test_a_graph_is_drawn_there_too(host: Page) -> None:
    frame = shown(host)
    frame.locator("#groups summary").first.click()
    frame.get_by_role("link", name="Draw its graph").click()
    frame.wait_for_selector("#picture-place svg")

    assert frame.locator("g.node").count() == 7
    assert ["resources/read", f"{BOARD}/graphs/checkout"] in host.evaluate("() => asked")
