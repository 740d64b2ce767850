"""Whoever types what the README says has a live board with three agents at work, in less than five minutes.

The environment that the tests run in stands for the first line, which installs; a browser is not opened.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from time import monotonic
from typing import TYPE_CHECKING, Final

from tests import ready
from tests.docs.pages import ROOT
from tests.docs.transcripts import run
from tests.interfaces.cli.fake_runs import environment
from tests.interfaces.http.calling import Caller
from tests.interfaces.mcp.live import until

if TYPE_CHECKING:
    from pathlib import Path

MINUTES_S: Final = 300
END_S: Final = 30
_BLOCK: Final = re.compile(r"^## A live board$.*?^```sh\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_URL: Final = re.compile(r"http://127\.0\.0\.1:(\d+)/#token=(\S+)\n")


def commands() -> list[str]:
    """What the README says to type."""
    found = _BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    return found["text"].splitlines()


def test_the_readme_leads_to_a_board_with_three_agents_at_work(tmp_path: Path) -> None:
    begun = monotonic()
    install, *typed, board = commands()
    assert install.startswith("python3 -m venv ")
    # The session of the shell is in the home folder's `shop`.
    (tmp_path / "at").mkdir()
    done = run("\n".join(["set -e", *typed]), tmp_path / "at")
    assert done.returncode == 0, done.stdout
    said = tmp_path / "said"
    words = [sys.executable, "-m", "metagit_mcp", *shlex.split(board)[1:], "--no-open"]
    with said.open("wb") as out:
        shown = ready.Popen(
            words, cwd=tmp_path / "shop", stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment()
        )
    try:
        until(lambda: _URL.search(said.read_text()) is not None or shown.poll() is not None)
        found = _URL.search(said.read_text())
        assert found is not None, said.read_text()
        answer = Caller(int(found[1]), found[2]).get("/v1/board").json
        page = Caller(int(found[1])).get("/")
    finally:
        shown.send_signal(signal.SIGINT)
        ended = shown.wait(END_S)
    running = [(card["agent_id"], card["title"], card["state"], card["proof"]) for card in answer["running"]]
    assert sorted(running) == [
        ("ada", "Schema", "working", "live"),
        ("bob", "Login page", "working", "live"),
        ("cy", "Search", "working", "live"),
    ]
    waiting = [(card["title"], [each["text"] for each in card["reasons"]]) for card in answer["not_runnable"]]
    assert waiting == [("Checkout", ["not_ready(unfinished schema)"])]
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert ended == 0
    assert monotonic() - begun < MINUTES_S
