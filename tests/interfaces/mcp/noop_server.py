"""A server with one tool per thing that can go wrong on the wire; run as a script, with no package of tools.

`noop_server.py [PATIENCE_SECONDS]`. It says on stderr what happens to it.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from metagit_mcp.interfaces.mcp.stdio import serve_stdio
from metagit_mcp.interfaces.mcp.stdio_claim import claim_wire
from metagit_mcp.interfaces.mcp.stdio_messages import Limits

Arguments = dict[str, Any]


def say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


@asynccontextmanager
async def lifespan(_: Server[str]) -> AsyncIterator[str]:
    say("lifespan entered")
    yield "state"
    await asyncio.sleep(0)  # a cancelled cleanup would end here
    say("lifespan left")


async def noop(_: Arguments) -> str:
    return "ok"


async def echo(arguments: Arguments) -> str:
    return str(arguments["text"])


async def large(arguments: Arguments) -> str:
    return "x" * int(arguments["size"])


async def noisy(_: Arguments) -> str:
    sys.stdout.write("printed by the tool\n")
    sys.stdout.flush()
    child = await asyncio.create_subprocess_exec("/bin/sh", "-c", "echo printed by a child; cat")
    await child.wait()
    sys.stdout.write("left unflushed")
    return "ok"


async def block(_: Arguments) -> str:
    say("blocking")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        say("block cancelled")
        raise
    return "unreachable"


TOOLS: dict[str, Callable[[Arguments], Awaitable[str]]] = {
    "noop": noop,
    "echo": echo,
    "large": large,
    "noisy": noisy,
    "block": block,
}


async def list_tools(_: ServerRequestContext[str], __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    schema = {"type": "object", "properties": {}}
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=schema) for name in TOOLS])


async def call_tool(_: ServerRequestContext[str], params: types.CallToolRequestParams) -> types.CallToolResult:
    text = await TOOLS[params.name](params.arguments or {})
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def main() -> None:
    server = Server(
        "noop",
        version="1",
        instructions="nothing to do",
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    patience_s = float(sys.argv[1]) if sys.argv[1:] else Limits().patience_s
    asyncio.run(serve_stdio(server, claim_wire(), limits=Limits(patience_s=patience_s)))
    say("returned")


if __name__ == "__main__":
    main()
