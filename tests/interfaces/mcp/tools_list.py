"""The list of tools as a host receives it, and its golden copy.

When a change of the list is meant, look at it and renew the copy: `python -m tests.interfaces.mcp.tools_list`.
Tool names and arguments are public under SemVer: the change belongs into CHANGELOG.md too.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from mcp import Client

from metagit_mcp.interfaces.mcp.server import build_server
from tests.interfaces.mcp.fake_application import SETTINGS, FakeApplication

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "tools_list.json"
Listed = list[dict[str, Any]]


async def tools_list(mode: str = "auto", **changes: Any) -> Listed:  # noqa: ANN401 - arguments of build_server
    """Return the tools, as JSON, that a client of that era is told of."""
    arguments = {"open_application": FakeApplication().opened, "settings": SETTINGS, **changes}
    async with Client(build_server(**arguments), mode=mode) as client:
        listed = await client.list_tools()
    return [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in listed.tools]


def as_text(tools: Listed) -> str:
    return json.dumps(tools, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(as_text(asyncio.run(tools_list())))
