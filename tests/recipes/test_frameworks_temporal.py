"""The program of the page about Temporal schedules work through a real Temporal server: also without its worker."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from tests.interop.http_server import free_port, served
from tests.interop.peer import framework
from tests.recipes.blocks import written
from tests.recipes.frameworks import running, surroundings
from tests.recipes.shop import WAIT_S, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.recipes.shop import Shop

pytestmark = pytest.mark.interop
PAGE: Final = "temporal"
DONE: Final = {"search": "completed", "cart": "completed", "till": "completed"}
# A workflow that a test leaves behind is in no other's way: a word of the test's name.
NAMESPACES: Final = ("killed", "cancelled", "taken")
# Goes on when somebody writes into the gate, or at once where that is a file.
AGENT: Final = """#!/bin/sh
cat > /dev/null
cat "$GATE"
"""


@pytest.fixture(scope="module")
def temporal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of Temporal, which forgets all when it ends."""
    folder, port = tmp_path_factory.mktemp("temporal"), free_port()
    place = ("--ip", "127.0.0.1", "--port", str(port), *(word for name in NAMESPACES for word in ("-n", name)))
    command = [str(framework(PAGE, "temporal")), "server", "start-dev", "--headless", *place]
    said = folder / "said"
    with said.open("wb") as out:
        server = subprocess.Popen(
            command, cwd=folder, env=surroundings(folder), stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        try:
            # It says so when it has its namespaces.
            until(lambda: "Temporal Server:" in said.read_text(encoding="utf-8"), said, server)
            yield f"127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(timeout=WAIT_S)


@pytest.fixture
def at(shop: Shop, temporal: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """What the program is told; its agents wait at a gate that nobody opens."""
    agent = tmp_path / "agent.sh"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    os.mkfifo(tmp_path / "gate")
    known = {"AGENT": str(agent), "GATE": str(tmp_path / "gate"), "TEMPORAL_ADDRESS": temporal}
    [known["TEMPORAL_NAMESPACE"]] = [name for name in NAMESPACES if name in request.node.name]
    with served(shop.root, tmp_path / "served") as address:
        # A worker is given up after three seconds.
        hurry = {"WAIT_S": "1", "BEAT_S": "1"}
        yield {**known, **hurry, "METAGIT_URL": address, "METAGIT_TOKEN": shop.token("crew")}


def asked(temporal: str, *words: str, cwd: Path) -> None:
    """Let Temporal's own command do something."""
    command = [str(framework(PAGE, "temporal")), *words, "--address", temporal]
    subprocess.run(command, cwd=cwd, env=surroundings(cwd), capture_output=True, timeout=WAIT_S, check=True)


def started(shop: Shop) -> list[str]:
    return [node_id for what, node_id, _ in shop.history() if what == "started"]


def test_another_worker_goes_on_where_one_was_killed(shop: Shop, at: dict[str, str], tmp_path: Path) -> None:
    words = (written(PAGE, "crew.py", tmp_path), "crew/ada", "crew/bob")
    with running(PAGE, *words, cwd=tmp_path, said=tmp_path / "killed", **at) as program:
        until(lambda: len(started(shop)) == 2, tmp_path / "killed", program)
    (tmp_path / "open").write_text("It stands.")
    opened = at | {"GATE": str(tmp_path / "open")}
    with running(PAGE, *words, cwd=tmp_path, said=tmp_path / "said", **opened) as program:
        until(lambda: shop.statuses() == DONE, tmp_path / "said", program)
    # The same leases to the end, and nothing twice.
    history = shop.history()
    assert sorted((what, node_id) for what, node_id, _ in history) == [
        *(("completed", "cart"), ("completed", "search"), ("completed", "till")),
        *(("started", "cart"), ("started", "search"), ("started", "till")),
    ]
    assert {agent_id for _, _, agent_id in history} == {"crew/ada", "crew/bob"}
    assert [each["result"]["summary"] for each in shop.bodies("work_completed")] == 3 * ["It stands."]


def test_a_cancelled_workflow_gives_its_node_back(
    shop: Shop, at: dict[str, str], temporal: str, tmp_path: Path
) -> None:
    words = (written(PAGE, "crew.py", tmp_path), "crew/cy")
    with running(PAGE, *words, cwd=tmp_path, said=tmp_path / "said", **at) as program:
        until(lambda: len(started(shop)) == 1, tmp_path / "said", program)
        asked(temporal, "workflow", "cancel", "--workflow-id", "crew/cy", "-n", "cancelled", cwd=tmp_path)
        until(lambda: len(shop.history()) == 2, tmp_path / "said")
    assert shop.history() == [("started", "search", "crew/cy"), ("released", "search", "crew/cy")]


def test_an_agent_whose_node_is_taken_back_gets_another_one(shop: Shop, at: dict[str, str], tmp_path: Path) -> None:
    words = (written(PAGE, "crew.py", tmp_path), "crew/dan")
    with running(PAGE, *words, cwd=tmp_path, said=tmp_path / "said", **at) as program:
        until(lambda: len(started(shop)) == 1, tmp_path / "said", program)
        shop.metagit("work", "release", "search", "--force", "--note", "wrong one", "--operator", "ada")
        until(lambda: len(started(shop)) == 2, tmp_path / "said", program)
    # Another lease; nothing was reported under the first one.
    assert [what for what, _, _ in shop.history()] == ["started", "started"]
    assert len({each["lease"]["lease_id"] for each in shop.bodies("work_started")}) == 2
