"""The programs of the demo: a server of its own for each agent, spoken to over MCP, and single commands for people.

Every wait is bounded, and none of the caller's settings reaches a program. Knows no step and no fact.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
from anyio.abc import TaskGroup
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import get_default_environment
from mcp.types import CallToolResult, TextContent

import metagit_mcp

Json = dict[str, Any]
T = TypeVar("T")
# What stands in an answer for the folder of the workspace, which is another one in each run.
WORKSPACE: Final = "WORKSPACE"
_ANSWER_SECONDS: Final = 30
_LOOK_EVERY_S: Final = 0.05
# The package that runs the demo is the one that is shown, wherever it was started; `-P` keeps the current folder out.
_PACKAGE_HOME: Final = str(Path(metagit_mcp.__file__).resolve().parents[1])
_PROGRAM: Final = ("-P", "-m", "metagit_mcp")
# Becomes the program after its process id is written down: the SDK does not tell it.
_LAUNCHER: Final = """\
import os, sys
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


class StepFailed(Exception):
    """A program did not do its part; the message says which and why."""


def environment(clock: Path | None = None, fault: str | None = None) -> dict[str, str]:
    """Return the environment of every program: what an agent host passes on, the file that tells the time, a fault."""
    own = {} if clock is None else {"METAGIT_MCP_CLOCK": f"@{clock}"}
    dies = {} if fault is None else {"METAGIT_MCP_FAULT": fault}
    return {**get_default_environment(), "PYTHONPATH": _PACKAGE_HOME, **own, **dies}


class Agent:
    """One agent, connected to the server that its host started for it."""

    def __init__(self, client: Client, root: Path, server: int) -> None:
        """Speak through `client` to the server with this process id, of the workspace at `root`."""
        self._client = client
        self._root = root
        self._server = server

    def kill(self) -> None:
        """Kill the server as a power cut would: it does nothing more."""
        os.kill(self._server, signal.SIGKILL)

    async def tools(self) -> list[Json]:
        """Return the tools that the server lists, by name and title."""
        listed = await self._client.list_tools()
        return [{"name": tool.name, "title": tool.title} for tool in listed.tools]

    async def call(self, tool: str, **arguments: object) -> Json:
        """Return the answer of a tool.

        Raises:
            StepFailed: the server refused, or did not answer in time.
        """
        result = await self._result(tool, arguments)
        if result.is_error or result.structured_content is None:
            raise StepFailed(f"{tool} was refused: {_text(result)}")
        return placeless(result.structured_content, self._root)

    async def refusal(self, tool: str, **arguments: object) -> Json:
        """Return the error record of a call that is to be refused; the answer if it was not."""
        result = await self._result(tool, arguments)
        record: Json = json.loads(_text(result))
        return placeless(record, self._root)

    async def _result(self, tool: str, arguments: Json) -> CallToolResult:
        try:
            return await self._client.call_tool(tool, arguments)
        except MCPError as error:
            raise StepFailed(f"{tool}: {error}") from error


def _text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


def placeless(record: Json, root: Path) -> Json:
    """Return a JSON object with the folder of the workspace named `WORKSPACE`."""
    place = json.dumps(str(root))[1:-1]
    found: Json = json.loads(json.dumps(record).replace(place, WORKSPACE))
    return found


@asynccontextmanager
async def connected(
    root: Path, agent_id: str, *, mode: str, toolsets: str = "schedule,work", clock: Path | None = None
) -> AsyncIterator[Agent]:
    """Start a server for the agent and connect to it; `mode` is the SDK's name for how a connection is opened."""
    pid_file = root / f"{agent_id}.pid"
    server = ("serve", "--workspace", str(root), "--agent-id", agent_id, "--toolsets", toolsets)
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-c", _LAUNCHER, str(pid_file), *_PROGRAM, *server],
        env=environment(clock),
        cwd=root,
    )
    async with Client(parameters, mode=mode, read_timeout_seconds=_ANSWER_SECONDS) as client:
        yield Agent(client, root, int(pid_file.read_text()))


class Connections:
    """Connections that are opened at the same time, each held by a task of its own, and closed together."""

    def __init__(self, group: TaskGroup) -> None:
        """Hold them in a group of tasks."""
        self._group = group
        self._end = anyio.Event()
        self._closed: list[anyio.Event] = []

    async def open(self, *several: AbstractAsyncContextManager[Agent]) -> list[Agent]:
        """Return the agents once all are connected."""
        agents: dict[int, Agent] = {}
        all_open = anyio.Event()

        async def hold(place: int, connection: AbstractAsyncContextManager[Agent], closed: anyio.Event) -> None:
            try:
                async with connection as agent:
                    agents[place] = agent
                    if len(agents) == len(several):
                        all_open.set()
                    await self._end.wait()
            finally:
                closed.set()

        for place, connection in enumerate(several):
            self._closed.append(anyio.Event())
            self._group.start_soon(hold, place, connection, self._closed[-1])
        await all_open.wait()
        return [agents[place] for place in range(len(several))]

    async def close(self) -> None:
        """Close all of them, and wait for that: a failure must not cut their ends short."""
        self._end.set()
        for closed in self._closed:
            await closed.wait()


@asynccontextmanager
async def connections() -> AsyncIterator[Connections]:
    """Let connections be opened within the block; all are closed at its end."""
    async with anyio.create_task_group() as group:
        opened = Connections(group)
        try:
            yield opened
        finally:
            await opened.close()


async def command(root: Path, *arguments: str, clock: Path | None = None, ends_with: int = 0) -> Json:
    """Run one command of the program in the workspace; return what it answers with `--json`.

    Raises:
        StepFailed: it ended otherwise than it should, or not in time.
    """
    words = [sys.executable, *_PROGRAM, *arguments, "--json"]
    said = f"metagit-mcp {' '.join(arguments)}".replace(str(root), WORKSPACE)
    with anyio.move_on_after(_ANSWER_SECONDS):
        ended = await anyio.run_process(
            words, stdin=subprocess.DEVNULL, cwd=root, env=environment(clock), check=False, stderr=None
        )
        if ended.returncode != ends_with:
            raise StepFailed(f"{said} ended with {ended.returncode}: {ended.stdout.decode(errors='replace')}")
        return placeless(json.loads(ended.stdout), root)
    raise StepFailed(f"{said} did not end within {_ANSWER_SECONDS} seconds")


async def killed(root: Path, *arguments: str, fault: str, clock: Path | None = None) -> Json:
    """Run one command that dies as by kill -9 at a point of its writing; return what it said on both ways.

    Raises:
        StepFailed: it ended otherwise, or not in time.
    """
    words = [sys.executable, *_PROGRAM, *arguments, "--json"]
    with anyio.move_on_after(_ANSWER_SECONDS):
        ended = await anyio.run_process(
            words, stdin=subprocess.DEVNULL, cwd=root, env=environment(clock, fault), check=False
        )
        if ended.returncode == -signal.SIGKILL:
            return {"point": ended.stderr.decode().strip(), "said": ended.stdout.decode()}
        raise StepFailed(f"it was to die at {fault} and ended with {ended.returncode}")
    raise StepFailed(f"it was to die at {fault} and did not end within {_ANSWER_SECONDS} seconds")


async def seen_once(look: Callable[[], T], expected: T) -> T:
    """Return what is seen once it is as expected, or what it is in the end: servers write files within a second."""
    for _ in range(int(_ANSWER_SECONDS / _LOOK_EVERY_S)):
        if look() == expected:
            break
        await anyio.sleep(_LOOK_EVERY_S)
    return look()


def statuses(root: Path) -> dict[str, str]:
    """Return the status of each node in the graph files."""
    files = sorted((root / ".metagit/tasks/graphs").glob("*.json"))
    nodes = [node for path in files for node in json.loads(path.read_text("utf-8"))["nodes"]]
    return {node["node_id"]: node["status"] for node in nodes}


def logged(root: Path, log: str) -> list[Json]:
    """Return what stands in a log of the workspace, line by line."""
    path = root / ".metagit" / log
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
