"""How the tests read what a call of a tool came to. It must not know any tool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcp import types

if TYPE_CHECKING:
    from metagit_mcp.wire.codec import Json


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def refusal(result: types.CallToolResult) -> Json:
    """The error record of a refused call."""
    assert (result.is_error, result.structured_content) == (True, None)
    record: Json = json.loads(text_of(result))
    assert list(record) == ["code", "message", "hint", "details", "retryable"]
    return record
