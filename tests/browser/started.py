"""Starts Debian's Chromium, driven by Playwright; neither is part of the environment in which other tests run.

Must not know: what is shown.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.interop.peer import BROWSER_HOME, chromium, installed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

# No sandbox, because it may be root that tests; no talk to anybody but the page.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def started() -> Iterator[Browser]:
    """A browser without a window; it is gone afterwards, and so is the event loop of this thread."""
    place = str(installed(BROWSER_HOME / "python"))
    sys.path.append(place)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - it is not there where these tests are not run

    program = chromium()
    assert program is not None, "there is no Chromium: run .ci/interop"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()
    sys.path.remove(place)
