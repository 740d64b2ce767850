"""A small workspace and real servers on it, driven over their raw wire. It must not know what they should answer."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from tests.interfaces.mcp.raw_wire import LEGACY, WAIT_S, Message, RawServer, Silence

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]

NEXT = "metagit_schedule_next"
START = "metagit_work_start"
REPORT = "metagit_work_report"
STATUS = "metagit_schedule_status"
GRAPH = "shop"
ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}


def node(node_id: str, **fields: object) -> Json:
    plain = {"node_id": node_id, "graph_id": GRAPH, "title": node_id, "depends_on": [], "status": "ready"}
    return {**plain, "priority": 0, **fields}


def graph_file(root: Path) -> Path:
    return root / ".metagit" / "tasks" / "graphs" / f"{GRAPH}.json"


def write_graph(root: Path, *nodes: Json) -> None:
    """Write the graph as other programs do: a whole file, put in place at once."""
    path = graph_file(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    graph = {"graph_id": GRAPH, "title": "Shop", "status": "active", "nodes": list(nodes)}
    fresh = path.with_suffix(".fresh")
    fresh.write_text(json.dumps(graph))
    fresh.replace(path)


def statuses(root: Path) -> dict[str, str]:
    """The status of every node as the graph file has it."""
    return {each["node_id"]: each["status"] for each in json.loads(graph_file(root).read_text())["nodes"]}


async def asleep(seconds: float) -> None:
    """Wait as a server does."""
    await asyncio.sleep(seconds)


def until(holds: Callable[[], bool], timeout: float = WAIT_S) -> None:
    """Wait until something holds that no descriptor tells of."""
    deadline = time.monotonic() + timeout
    while not holds():
        if time.monotonic() > deadline:
            raise Silence(f"it did not come to hold in {timeout} s")
        Event().wait(0.005)


class LiveServer(RawServer):
    """A real server on a workspace. It shakes hands at the first request, so that several start at once."""

    def __init__(self, root: Path, *flags: str, era: str = LEGACY) -> None:
        super().__init__([sys.executable, "-m", "metagit_mcp", "serve", "--workspace", str(root), *flags], env=ENV)
        self._era: str | None = era

    def begin(self, method: str, params: Message | None = None) -> int:
        """Send a request and return its id."""
        self._shake_hands()
        return super().begin(method, params)

    def _shake_hands(self) -> None:
        if self._era is not None:
            era, self._era = self._era, None
            self.enter(era)

    def ask(self, tool: str, **arguments: object) -> Json:
        """Call a tool and return its answer, or the record of its refusal."""
        return record_of(self.call_tool(tool, arguments))

    def ask_later(self, tool: str, *, told_as: str | None = None, **arguments: object) -> int:
        """Send a call and return its id; `told_as` asks to be told of progress."""
        self._shake_hands()
        params: Message = {"name": tool, "arguments": arguments}
        if told_as is not None:
            self.envelope["progressToken"] = told_as
        try:
            return self.begin("tools/call", params)
        finally:
            self.envelope.pop("progressToken", None)

    def waits(self, request_id: int) -> None:
        """See to it that a call which was sent has had its first look, and waits."""
        # File work is done in the order of the calls, so this look comes after the other one.
        self.ask(STATUS)
        assert [each for each in self.others if each.get("id") == request_id] == []

    def claim(self, **arguments: object) -> Json:
        """Take one node, and return its lease."""
        (decision,) = self.ask(NEXT, claim=True, **arguments)["decisions"]
        lease: Json = decision["lease"]
        return lease


def record_of(answer: Message) -> Json:
    """The JSON in the text of an answer."""
    record: Json = json.loads(answer["result"]["content"][0]["text"])
    return record


def claimed(record: Json) -> list[str]:
    """The nodes that an answer gives under a lease."""
    return [each["node_id"] for each in record["decisions"] if each.get("lease")]
