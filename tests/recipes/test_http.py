"""The programs of docs/how-to/call-it-over-http.md, run against a real server."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.interfaces.http.serving import Server
from tests.interop.http_server import free_port
from tests.recipes.blocks import written
from tests.recipes.frameworks import surroundings
from tests.recipes.shop import until

if TYPE_CHECKING:
    from tests.recipes.shop import Shop

PAGE: Final = "call-it-over-http"
_END_S: Final = 100
_STAND_IN: Final = Path(__file__).with_name("stand_in_curl.py")
# Takes what it is given, and fails where it is told to.
_AGENT: Final = """#!/bin/sh
cat > "$WORKED"
exit "${ENDS:-0}"
"""


@pytest.fixture
def programs(shop: Shop) -> Path:
    """A folder with what does the work, and with a curl if the machine has none."""
    folder = shop.root.parent / "bin"
    folder.mkdir()
    given = {"your-agent": _AGENT}
    if shutil.which("curl") is None:
        given["curl"] = f'#!/bin/sh\nexec "{sys.executable}" "{_STAND_IN}" "$@"\n'
    for name, text in given.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


def _environment(shop: Shop, port: int, secret: str, **variables: str) -> dict[str, str]:
    own = {"METAGIT_URL": f"http://127.0.0.1:{port}", "METAGIT_TOKEN": secret, "WORKED": str(_worked(shop))}
    known = surroundings(shop.root.parent, **own, **variables)
    return {**known, "PATH": f"{shop.root.parent / 'bin'}:{known['PATH']}"}


def _worked(shop: Shop) -> Path:
    return shop.root.parent / "worked"


def _one_node(shop: Shop, server: Server, run: str, secret: str, **variables: str) -> subprocess.CompletedProcess[str]:
    written(PAGE, "one-node.sh", shop.root)
    return subprocess.run(
        ["/bin/sh", "one-node.sh", run],
        cwd=shop.root,
        env=_environment(shop, server.port, secret, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_END_S,
        check=False,
    )


@pytest.mark.usefixtures("programs")
def test_a_script_claims_reports_and_is_repeated_without_harm(shop: Shop) -> None:
    secret = shop.token("builder")
    with Server(shop.root, "--max-wait", "1") as server:
        first = _one_node(shop, server, "run-1", secret)
        given = json.loads(_worked(shop).read_text())["decisions"][0]
        assert (first.returncode, first.stderr, json.loads(first.stdout)["node_status"]) == (0, "", "completed")
        assert (given["node_id"], given["dispatch_hints"]["acceptance"]) == ("search", ["a word is found"])
        before = shop.history()
        again = _one_node(shop, server, "run-1", secret)
        assert (again.returncode, again.stdout, shop.history()) == (0, first.stdout, before)
        (warning,) = json.loads(_worked(shop).read_text())["warnings"]
        assert "has ended since (completed)" in warning

        given_back = _one_node(shop, server, "run-2", secret, ENDS="1")
        assert (given_back.returncode, shop.history()[-1]) == (0, ("released", "cart", "builder"))
        _one_node(shop, server, "run-3", secret)
        _one_node(shop, server, "run-4", secret)
        idle = _one_node(shop, server, "run-5", secret)
        assert (idle.returncode, json.loads(idle.stdout)["all_finished"]) == (0, True)
        # A server brings the files in step within a second.
        until(lambda: set(shop.statuses().values()) == {"completed"}, _worked(shop))


@pytest.mark.usefixtures("programs")
def test_a_script_that_is_refused_says_why(shop: Shop) -> None:
    viewer = shop.metagit("token", "issue", "eve", "--role", "viewer")["secret"]
    with Server(shop.root) as server:
        done = _one_node(shop, server, "run-1", viewer)
    assert (done.returncode, _worked(shop).exists(), shop.history()) == (22, False, [])


def test_a_worker_works_until_everything_is_finished(shop: Shop) -> None:
    lease_id = shop.metagit("schedule", "next", "--claim", "--agent-id", "builder")["decisions"][0]["lease"]["lease_id"]
    program, said = written(PAGE, "worker.py", shop.root), shop.root.parent / "said"
    with Server(shop.root, "--max-wait", "1") as server, said.open("wb") as out:
        environment = _environment(shop, server.port, shop.token("builder"))
        done = subprocess.run(
            [sys.executable, program],
            cwd=shop.root,
            env=environment,
            stdout=out,
            stderr=out,
            timeout=_END_S,
            check=False,
        )
    assert (done.returncode, said.read_text()) == (0, "")
    assert shop.history() == [
        ("started", "search", "builder"),
        # What was left from before is given back first, and comes later.
        ("released", "search", "builder"),
        *((what, name, "builder") for name in ("cart", "search", "till") for what in ("started", "completed")),
    ]
    assert [body["lease_id"] for body in shop.bodies("work_released")] == [lease_id]
    assert [body["result"]["summary"] for body in shop.bodies("work_completed")] == [
        f"{title}: done" for title in ("Keep things", "Find things", "Pay for things")
    ]


def test_a_worker_goes_on_when_its_server_was_killed(shop: Shop) -> None:
    """The first server dies after a commit, with the reply that a lease was given; another takes its place."""
    program, said = written(PAGE, "worker.py", shop.root), shop.root.parent / "said"
    port, secret = free_port(), shop.token("builder")
    place = f"127.0.0.1:{port}"
    with said.open("wb") as out:
        server = Server(shop.root, "--max-wait", "1", place=place, METAGIT_MCP_FAULT="ledger.committed")
        with server:
            worker = subprocess.Popen(
                [sys.executable, program], cwd=shop.root, env=_environment(shop, port, secret), stdout=out, stderr=out
            )
            try:
                until(lambda: server.process.poll() is not None, said, worker)
                assert server.process.wait(_END_S) == -signal.SIGKILL
                with Server(shop.root, "--max-wait", "1", place=place):
                    assert worker.wait(_END_S) == 0
            finally:
                worker.kill()
                worker.wait(_END_S)
    assert said.read_text() == ""
    assert shop.history() == [
        (what, name, "builder") for name in ("search", "cart", "till") for what in ("started", "completed")
    ]
