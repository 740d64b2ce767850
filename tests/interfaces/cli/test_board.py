"""The command `board` opens a browser, and serves whatever becomes of that."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tests import ready
from tests.interfaces.cli.fake_runs import environment
from tests.interfaces.http.calling import Caller
from tests.interfaces.mcp.live import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_END_S: Final = 30.0
_URL: Final = re.compile(r"http://127\.0\.0\.1:(\d+)/#token=(\S+)\n")
_BROWSER: Final = """\
import re, sys, urllib.request
page = open(sys.argv[1].removeprefix("file://")).read()
place = re.search(r"url=(http://[^/]+/)#token=", page)[1]
print(urllib.request.urlopen(place + "healthz", timeout=20).read().decode(), file=open(sys.argv[2], "w"))
"""


@contextmanager
def _board(folder: Path, browser: str) -> Iterator[Callable[[], str]]:
    """What the command says, as long as it runs."""
    (folder / "workspace" / ".metagit").mkdir(parents=True)
    said = folder / "said"
    with said.open("wb") as out:
        process = ready.Popen(
            [sys.executable, "-m", "metagit_mcp", "board", "--workspace", str(folder / "workspace")],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment(BROWSER=browser),
        )
    try:
        yield said.read_text
    finally:
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(_END_S) == 0, said.read_text()
        finally:
            process.kill()


def test_the_board_is_served_while_the_command_of_the_browser_runs(tmp_path: Path) -> None:
    script, result = tmp_path / "browser.py", tmp_path / "result"
    script.write_text(_BROWSER)
    browser = f"{shlex.join([sys.executable, str(script)])} %s {shlex.quote(str(result))}"
    with _board(tmp_path, browser) as said:
        until(lambda: result.exists() and result.read_text() != "")
        assert result.read_text().strip() == "ok"
        assert "#token=" not in said()


def test_where_no_browser_can_be_opened_the_address_is_said(tmp_path: Path) -> None:
    with _board(tmp_path, "/bin/false %s") as said:
        until(lambda: _URL.search(said()) is not None)
        found = _URL.search(said())
        assert found is not None
        assert Caller(int(found[1]), found[2]).get("/v1/session").json["role"] == "viewer"
