"""Takes the picture of the board that the pages show: `python -m tests.browser.picture` writes docs/images/board.png.

Must not know: how the page is made.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.browser.fleet import Fleet
from tests.browser.started import started
from tests.interop.http_server import served

PICTURE = Path(__file__).resolve().parents[2] / "docs/images/board.png"
LARGEST = 200_000


def take(target: Path) -> None:
    """Write the picture of a board on which three agents are at work and one node waits for a person."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder) / "shop")
        fleet.root.mkdir()
        fleet.plan()
        token = fleet.token("ada", "operator")
        with served(fleet.root, Path(folder) / "log") as url, started() as browser:
            for agent in ("claude-1", "codex-1", "claude-2"):
                fleet.claim(agent)
            page = browser.new_page(viewport={"width": 1280, "height": 540}, color_scheme="light")
            page.goto(f"{url}/#token={token}")
            page.wait_for_selector("#work > li:nth-child(3)")
            page.wait_for_selector("#link[data-state=live]")
            # Where it lies is of no interest, and different each time.
            page.evaluate("() => (document.getElementById('workspace').textContent = '/home/ada/shop')")
            target.write_bytes(page.screenshot(animations="disabled"))
    assert target.stat().st_size <= LARGEST


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    take(PICTURE)
    sys.stdout.write(f"{PICTURE}\n")
