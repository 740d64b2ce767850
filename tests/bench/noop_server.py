"""The production server with one tool more, `noop`, that the warm ratio divides by; takes the arguments of the CLI.

It must change nothing else: the server is built and served by the package's own entry point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp import types

from metagit_mcp.interfaces.mcp import stdio
from tests.bench import NOOP

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

CALL = "tools/call"


def add_noop(server: Server[Any]) -> None:
    """Answer calls of `noop` with a text of `size` characters; with `twice`, as structured content too."""
    entry = server.get_request_handler(CALL)
    assert entry is not None

    async def call(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> Any:  # noqa: ANN401 - what the server's own handler returns
        if params.name != NOOP:
            return await entry.handler(context, params)
        return answer(params.arguments or {})

    server.add_request_handler(CALL, types.CallToolRequestParams, call)


def answer(arguments: dict[str, Any]) -> types.CallToolResult:
    text = "x" * int(arguments["size"])
    structured = {"text": text} if arguments.get("twice") else None
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=structured)


def main() -> None:
    serve = stdio.serve_stdio

    async def serve_with_noop(server: Server[Any], *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - passed on untouched
        add_noop(server)
        await serve(server, *arguments, **options)

    stdio.serve_stdio = serve_with_noop
    from metagit_mcp.__main__ import main as run  # noqa: PLC0415 - it must find the replaced function

    run()


if __name__ == "__main__":
    main()
