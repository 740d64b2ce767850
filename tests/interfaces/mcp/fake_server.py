"""The server over an application without a workspace; run as a script.

`fake_server.py [stuck|default]`: with `stuck`, opening the workspace never ends; with `default`, the server has the
toolsets that it has when nobody chooses any.
"""

import asyncio
import sys
from threading import Event
from typing import TYPE_CHECKING

from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.interfaces.mcp.stdio import serve_stdio
from metagit_mcp.interfaces.mcp.stdio_claim import claim_wire
from metagit_mcp.settings import Settings
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
    settings = Settings() if sys.argv[1:] == ["default"] else SETTINGS
    asyncio.run(serve_stdio(build_server(opening, settings), wire))


if __name__ == "__main__":
    main()
