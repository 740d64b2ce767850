"""Subscriptions over the raw wire between real processes: told soon, and no obstacle to a clean end."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.interfaces.mcp.live import NEXT, REPORT, STATUS, LiveServer, node, write_graph
from tests.interfaces.mcp.raw_wire import ERAS, MODERN
from tests.soon import soon

if TYPE_CHECKING:
    from pathlib import Path

URIS = ["metagit://status", "metagit://graphs/shop"]
UPDATED = "notifications/resources/updated"
ID = "io.modelcontextprotocol/subscriptionId"


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_graph(tmp_path, node("one"), node("two"))
    return tmp_path


def listen(server: LiveServer, era: str) -> int:
    """Subscribe to both by the way of the era; return the id of the stream, where it has one."""
    if era != MODERN:
        for uri in URIS:
            assert server.request("resources/subscribe", {"uri": uri})["result"] == {}
        return 0
    stream = server.begin("subscriptions/listen", {"notifications": {"resourceSubscriptions": URIS}})
    granted = server.receive()
    assert granted["method"] == "notifications/subscriptions/acknowledged"
    assert granted["params"]["notifications"] == {"resourceSubscriptions": URIS}
    assert granted["params"]["_meta"] == {ID: stream}
    return stream


def heard(server: LiveServer, era: str, stream: int) -> set[str]:
    """Both URIs, as they are told."""
    told: set[str] = set()
    while told != set(URIS):
        message = server.receive()
        assert message["method"] == UPDATED
        assert message["params"].get("_meta") == ({ID: stream} if era == MODERN else None)
        told.add(message["params"]["uri"])
    return told


def test_what_another_process_does_is_told_soon(root: Path, era: str) -> None:
    write_graph(root, *(node(f"n{number}") for number in range(9)))
    with LiveServer(root, era=era) as server, LiveServer(root) as other:
        other.ask(STATUS)
        stream = listen(server, era)
        for attempt in soon():
            lease = other.claim(agent_id=f"team/{attempt.number}")
            with attempt:
                heard(server, era, stream)
            other.ask(REPORT, lease_id=lease["lease_id"], state="completed", result={"summary": "done"})
            heard(server, era, stream)
            # Calls are answered beside what is told.
            assert server.ask(NEXT, preview=True)["decisions"][0]["node_id"] > lease["node_id"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, None])
def test_who_listens_does_not_keep_the_server(root: Path, era: str, how: signal.Signals | None) -> None:
    # Answers that are due would be waited for.
    for attempt in soon(2.0):
        with LiveServer(root, era=era) as server:
            listen(server, era)
            with attempt:
                assert (server.close() if how is None else server.stop(how)) == 0
            assert server.stderr == ""


def test_a_stream_that_is_cancelled_is_told_no_more(root: Path) -> None:
    with LiveServer(root, era=MODERN) as server:
        stream = listen(server, MODERN)
        server.notify("notifications/cancelled", {"requestId": stream})
        write_graph(root, node("one"))
        assert server.ask(STATUS)["ready_count"] == 1
        # A second stream of the same client is told, and the first is not.
        second = listen(server, MODERN)
        write_graph(root, node("one"), node("two"), node("three"))
        heard(server, MODERN, second)
        assert [each for each in server.others if each.get("method") == UPDATED] == []
