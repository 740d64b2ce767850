"""The server over an application without a workspace; run as a script.

`fake_server.py [stuck]`: with `stuck`, opening the workspace never ends.
"""

import asyncio
import sys
from threading import Event
from typing import TYPE_CHECKING

from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.interfaces.mcp.stdio import serve_stdio
from metagit_mcp.interfaces.mcp.stdio_claim import claim_wire
from tests.interfaces.mcp.fake_application import SETTINGS, FakeApplication

if TYPE_CHECKING:
    from metagit_mcp.bootstrap import Application


def stuck() -> "Application":
    sys.stderr.write("opening\n")
    sys.stderr.flush()
    Event().wait()
    raise AssertionError


def main() -> None:
    wire = claim_wire()
    opening = stuck if sys.argv[1:] == ["stuck"] else FakeApplication().opened
    asyncio.run(serve_stdio(build_server(opening, SETTINGS), wire))


if __name__ == "__main__":
    main()
