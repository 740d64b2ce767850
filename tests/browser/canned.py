"""A board that answers what a test wants it to answer, without a server: each request is met in the browser itself.

Must not know: how an answer is made. Its data are answers in the shape that `wire` gives them (test_canned.py).
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from metagit_mcp.interfaces.board.page import board_page

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

DATA = Path(__file__).with_name("data")
URL = "http://board.test/"
Json = dict[str, Any]
# A stream of changes that the test has in hand: `stream` is the newest one that the page opened.
STREAM = """
window.EventSource = class extends EventTarget {
  constructor() {
    super();
    window.stream = this;
    window.streams = (window.streams ?? 0) + 1;
    setTimeout(() => this.dispatchEvent(new Event(window.isDown ? "error" : "open")));
  }
  close() {}
};
"""
CHANGED = "() => stream.dispatchEvent(new MessageEvent('change', { data: JSON.stringify({ state_version: 'next' }) }))"
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@cache
def _read(name: str) -> str:
    return (DATA / f"{name}.json").read_text(encoding="utf-8")


def board(**changed: Any) -> Json:  # noqa: ANN401 - any part of an answer
    """An answer of its own, in which something of everything stands; parts of it may be others."""
    answer: Json = {**json.loads(_read("board")), **copy.deepcopy(changed)}
    return answer


def picture() -> Json:
    """A task graph with a critical chain and something discovered."""
    answer: Json = json.loads(_read("picture"))
    return answer


@dataclass
class Canned:
    """What the server would say: a change of `board` is told by `change()`; `sent` are the acts that were posted."""

    page: Page
    board: Json = field(default_factory=board)
    of_groups: dict[str, Json] = field(default_factory=dict)
    signed_in: bool = True
    is_up: bool = True
    refusals: dict[str, tuple[int, Json]] = field(default_factory=dict)
    sent: list[tuple[str, str, Json, str | None]] = field(default_factory=list)

    def open(self, fragment: str = "", shows: str = "#panels, #sign-in") -> None:
        """Show the page, up to its first board or its form, or something else."""
        self.page.add_init_script(STREAM)
        self.page.route("**/*", self._answer)
        self.page.goto(URL + fragment)
        self.page.wait_for_selector(", ".join(f"{each}:not([hidden])" for each in shows.split(", ")))

    def change(self, **changed: Any) -> None:  # noqa: ANN401 - any part of an answer
        """Let other things stand on the board, and tell the page of it."""
        self.board = {**self.board, **copy.deepcopy(changed)}
        with self.page.expect_response("**/v1/board?*"):
            self.page.evaluate(CHANGED)
        self.page.evaluate(DRAWN)

    def fail(self, status: int, record: Json) -> None:
        """Answer questions about the state with an error, and end the stream of changes as the server then does."""
        self.refusals["/v1/board"] = status, record
        self.page.evaluate("() => { window.isDown = true; stream.dispatchEvent(new Event('error')); }")

    def mend(self) -> None:
        """Answer again."""
        self.refusals.clear()
        self.come_back()

    def go_down(self) -> None:
        """Be gone, as a server that was stopped is."""
        self.is_up = False
        self.page.evaluate("() => { window.isDown = true; stream.dispatchEvent(new Event('error')); }")

    def come_back(self) -> None:
        """Be there again, for the next attempt."""
        self.is_up = True
        self.page.evaluate("() => { window.isDown = false; }")

    def _answer(self, route: Route) -> None:
        path = unquote(urlsplit(route.request.url).path)
        if path == "/":
            made = board_page()
            headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": made.policy}
            route.fulfill(status=200, headers=headers, body=made.document)
        elif not self.is_up:
            route.abort("connectionrefused")
        elif path in self.refusals:
            status, record = self.refusals[path]
            route.fulfill(status=status, json=record)
        else:
            route.fulfill(status=200, json=self._record(path, route))

    def _record(self, path: str, route: Route) -> Json:
        method = route.request.method
        if method != "GET":
            sent = json.loads(route.request.post_data or "{}")
            self.sent.append((method, path, sent, route.request.headers.get("x-metagit-board")))
            self.signed_in = method == "POST"
            return {}
        if path == "/v1/session":
            return {"signed_in": self.signed_in}
        graph_id = parse_qs(urlsplit(route.request.url).query).get("graph_id", [""])[0]
        return self.of_groups.get(graph_id, self.board) if path == "/v1/board" else picture()
