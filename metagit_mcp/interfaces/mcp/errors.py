"""Turns errors into what a host sees: the record of a refusal, or a reference to what stands on standard error.

A refused call is a tool result, so that the agent reads the reason and corrects itself. A protocol error is left to
protocol faults; by the specification of both eras a call of a tool that is not there is one (-32602), because the
host, not the agent, decides which tools there are. Must not know any tool or use case.
"""

import logging
import uuid
from collections.abc import Iterable

from mcp import MCPError, types

from metagit_mcp.domain.text import is_id
from metagit_mcp.errors import InternalError, MetagitError
from metagit_mcp.wire.codec import compact

# Unconfigured, as the server leaves it, logging writes to standard error.
_log = logging.getLogger(__name__)


def refused(error: MetagitError) -> types.CallToolResult:
    """Return the tool result of a refused call: the error record as text, and no structured content.

    Hosts check structured content against the output schema, and would hide the error behind that failure.
    """
    text = compact(error.as_record()).decode()
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def failed(error: Exception) -> types.CallToolResult:
    """Return the tool result of an unexpected failure, without a word of the exception.

    Its text may quote file content or paths; the traceback goes to standard error under the same reference.
    """
    reference = uuid.uuid4().hex[:12]
    _log.error("internal error %s", reference, exc_info=error)
    hint = f"Look for {reference} in the standard error log of the server."
    return refused(InternalError(hint=hint, reference=reference))


def unknown_tool(name: str, known: Iterable[str], toolset: str | None) -> MCPError:
    """Return the protocol error for a tool that this server does not have.

    Args:
        name: what was asked for; repeated only if it looks like a name.
        known: the tools there are.
        toolset: the toolset to start the server with to have it, if there is one.
    """
    asked = name if is_id(name) else "(not a name)"
    remedy = f" It is in the toolset {toolset}: add it to --toolsets." if toolset else ""
    message = f"Unknown tool {asked}.{remedy} Known: {', '.join(known)}."
    return MCPError(types.INVALID_PARAMS, message)
