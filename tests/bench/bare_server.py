"""The bare SDK server the start-up ratio divides by: one trivial tool over the SDK's own stdio.

Must not know: the package under test.
"""

from __future__ import annotations

import asyncio

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from tests.bench import NOOP

TOOL = types.Tool(
    name=NOOP,
    description="Answers with one word.",
    input_schema={"type": "object", "properties": {}, "additionalProperties": False},
)


async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[TOOL])


async def call_tool(_context: object, _params: object) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text="done")])


async def serve() -> None:
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(serve())
