"""A thousand Groups are shown, brought up to date and filtered without a moment in which the page does not answer.

Must not know: how the page is made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.fleet import Fleet
from tests.interop.http_server import served
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

# People notice from 100 ms on. Counted is the time of the processor, since the machine may be busy with other tests.
LONGEST_MS = 100
TASK = "ThreadControllerImpl::RunTask"
ALL_THERE = "() => document.querySelectorAll('#groups > li').length === 1000"


@dataclass
class Visit:
    """One look at the board of a large workspace: what is done, and what was seen meanwhile."""

    fleet: Fleet
    url: str
    seen: list[object] = field(default_factory=list)

    def __call__(self, page: Page) -> None:
        """Draw all, see a claim, filter, draw all again, and scroll."""
        page.goto(self.url)
        page.wait_for_function(ALL_THERE)
        node = self.fleet.claim("agent-1")
        page.wait_for_selector("#work > li")
        self.seen += [page.locator(f"#{name}-count").inner_text() for name in ("work", "queue", "groups")]
        self.seen += [node in page.locator("#work > li").inner_text(), page.locator("#groups > li .strip").count()]
        page.locator("#filter").fill("a:agent-1")
        page.wait_for_function("() => document.querySelectorAll('#groups > li').length === 0")
        page.locator("#filter").fill("")
        page.wait_for_function(ALL_THERE)
        page.mouse.wheel(0, 40_000)
        page.wait_for_function("() => scrollY > 20000")


def tasks_of_pages(browser: Browser, page: Page, work: Callable[[Page], None]) -> list[float]:
    """How long each task of the threads took that pages run in, in ms, while `work` was done."""
    browser.start_tracing(categories=["toplevel"])
    work(page)
    events: list[dict[str, Any]] = json.loads(browser.stop_tracing())["traceEvents"]
    threads = {thread(each) for each in events if each.get("args", {}).get("name") == "CrRendererMain"}
    return [
        each["tdur"] / 1000 for each in events if each["name"] == TASK and thread(each) in threads and "tdur" in each
    ]


def thread(event: dict[str, Any]) -> tuple[int, int]:
    return event["pid"], event["tid"]


def test_a_thousand_groups_are_shown_smoothly(browser: Browser, page: Page, tmp_path: Path) -> None:
    fleet = Fleet(write_workspace(tmp_path / "large", nodes=1000, graphs=1000, seed=1).root)
    token = fleet.token("ada", "operator")
    with served(fleet.root, tmp_path / "log") as url:
        visit = Visit(fleet, f"{url}/#token={token}")
        tasks = tasks_of_pages(browser, page, visit)
        page.close()

    assert visit.seen == ["1", "100 of 999", "1000", True, 1000]
    assert len(tasks) > 100
    assert max(tasks) <= LONGEST_MS
