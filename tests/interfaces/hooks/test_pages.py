"""What the page says to paste calls hooks that there are, for the tools that are signed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metagit_mcp.interfaces.hooks.calls import understood
from metagit_mcp.interfaces.hooks.stamp import SIGNED
from tests.docs.pages import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parents[3] / "docs/how-to/use-hooks.md"
PREFIX = {"claude": "mcp__metagit__", "codex": "mcp__metagit__", "cursor": "MCP:"}


def commands(found: Any, matcher: str = "") -> Iterator[tuple[list[str], str]]:  # noqa: ANN401 - any JSON
    """Yield every command of a configuration as its words, with the matcher above it."""
    if isinstance(found, list):
        for each in found:
            yield from commands(each, matcher)
    elif isinstance(found, dict):
        matcher = found.get("matcher", matcher)
        if isinstance(found.get("command"), str):
            yield [*found["command"].split(), *found.get("args", [])], matcher
        for each in found.values():
            yield from commands(each, matcher)


def test_what_is_pasted_is_understood() -> None:
    found = [json.loads(block.text) for block in blocks(PAGE) if block.kind == "json"]
    calls: dict[str, set[str]] = {}
    for words, matcher in (each for record in found for each in commands(record)):
        assert words[:2] == ["metagit-mcp", "hook"]
        call = understood(words[2:])
        assert call is not None
        calls.setdefault(call.host, set()).add(call.event)
        if call.event == "stamp-agent":
            assert {tool for tool in SIGNED if re.search(matcher, PREFIX[call.host] + tool)} == SIGNED
            assert re.search(matcher, PREFIX[call.host] + "metagit_schedule_status") is None
    assert calls == {
        "claude": {"session-start", "stamp-agent", "stop", "teammate-idle"},
        "codex": {"session-start", "stamp-agent", "stop"},
        "cursor": {"session-start", "stamp-agent", "stop"},
    }
