"""The programs of the demo: a server of its own for each agent, spoken to over MCP, and single commands for people.

Every wait is bounded, and none of the caller's settings reaches a program. Knows no step and no fact.
"""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import get_default_environment
from mcp.types import CallToolResult, TextContent

import metagit_mcp

Json = dict[str, Any]
# What stands in an answer for the folder of the workspace, which is another one in each run.
WORKSPACE: Final = "WORKSPACE"
_ANSWER_SECONDS: Final = 30
# The package that runs the demo is the one that is shown, wherever it was started; `-P` keeps the current folder out.
_PACKAGE_HOME: Final = str(Path(metagit_mcp.__file__).resolve().parents[1])
_PROGRAM: Final = ("-P", "-m", "metagit_mcp")


class StepFailed(Exception):
    """A program did not do its part; the message says which and why."""


def environment() -> dict[str, str]:
    """Return the environment of every program: what an agent host passes on, so no `METAGIT_…` setting."""
    return {**get_default_environment(), "PYTHONPATH": _PACKAGE_HOME}


class Agent:
    """One agent, connected to the server that its host started for it."""

    def __init__(self, client: Client, root: Path) -> None:
        """Speak through `client` to a server of the workspace at `root`."""
        self._client = client
        self._root = root

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
async def connected(root: Path, agent_id: str, *, mode: str) -> AsyncIterator[Agent]:
    """Start a server for the agent and connect to it; `mode` is the SDK's name for how a connection is opened."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[*_PROGRAM, "serve", "--workspace", str(root), "--agent-id", agent_id],
        env=environment(),
        cwd=root,
    )
    async with Client(parameters, mode=mode, read_timeout_seconds=_ANSWER_SECONDS) as client:
        yield Agent(client, root)


async def command(root: Path, *arguments: str) -> Json:
    """Run one command of the program in the workspace; return what it answers with `--json`.

    Raises:
        StepFailed: it failed, or did not end in time.
    """
    words = [sys.executable, *_PROGRAM, *arguments, "--json"]
    said = f"metagit-mcp {' '.join(arguments)}".replace(str(root), WORKSPACE)
    with anyio.move_on_after(_ANSWER_SECONDS):
        ended = await anyio.run_process(
            words, stdin=subprocess.DEVNULL, cwd=root, env=environment(), check=False, stderr=None
        )
        if ended.returncode != 0:
            raise StepFailed(f"{said} ended with {ended.returncode}: {ended.stdout.decode(errors='replace')}")
        return placeless(json.loads(ended.stdout), root)
    raise StepFailed(f"{said} did not end within {_ANSWER_SECONDS} seconds")
