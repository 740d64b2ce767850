"""One Chromium for all tests here, a page of its own for each, and no test in which the page complained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.canned import Canned
from tests.browser.started import started
from tests.interop.peer import AXE_SCRIPT, installed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

PATIENCE_MS = 10_000
SETTINGS: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", "timezone_id": "UTC"}


# It ends with this folder's tests: while it runs, its thread has an event loop, and other tests start theirs.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with started() as program:
        yield program


@pytest.fixture(scope="package")
def shared(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(**SETTINGS) as made:
        made.set_default_timeout(PATIENCE_MS)
        yield made


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """What a browser keeps, cookies above all: a new one for each test that talks to a server."""
    with browser.new_context(**SETTINGS) as made:
        made.set_default_timeout(PATIENCE_MS)
        yield made


@pytest.fixture
def complaints() -> list[str]:
    """What the page said in the console, and errors that nobody caught."""
    return []


@pytest.fixture
def page(context: BrowserContext, complaints: list[str]) -> Iterator[Page]:
    made = context.new_page()
    listen(made, complaints)
    yield made
    assert complaints == []


@pytest.fixture
def canned(shared: BrowserContext, complaints: list[str]) -> Iterator[Canned]:
    """A page whose answers the test decides, at the instant of the first one."""
    shared.clock.set_fixed_time("2026-11-30T11:00:00Z")
    made = shared.new_page()
    listen(made, complaints)
    yield Canned(made)
    made.close()
    assert complaints == []


def listen(page: Page, complaints: list[str]) -> None:
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))


@pytest.fixture(scope="session")
def axe() -> str:
    """The accessibility checker, to be run in the page."""
    path: Path = installed(AXE_SCRIPT)
    return path.read_text(encoding="utf-8")
