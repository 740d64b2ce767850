"""Measures each call of a tool and tells whoever wants to know. Must not know who that is, nor what a call is about."""

import json
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from mcp import MCPError, types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server

from metagit_mcp.interfaces.mcp.tools import TOOLS
from metagit_mcp.wire.measures import MeasuredCall

Context = ServerRequestContext[Any, Any]
Tell = Callable[[MeasuredCall], None]

# Callers may ask for any name, and each would be a series of its own.
_UNKNOWN: Final = "unknown"
_NAMES: Final = frozenset(entry.name for entry in TOOLS)
_TRACE_KEYS: Final = ("traceparent", "tracestate")
_LONGEST_CONTEXT: Final = 512


def measure(server: Server[Any], tell: Tell) -> None:
    """Let `tell` know of each call of a tool of this server as it ends."""
    server.middleware.insert(0, _MeasuredCalls(tell, _NAMES))


class _MeasuredCalls:
    """A middleware of the server, before all others."""

    def __init__(self, tell: Tell, names: Collection[str]) -> None:
        self._tell, self._names = tell, names

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method != "tools/call":
            return await call_next(ctx)
        began_ns, start = time.time_ns(), time.perf_counter()
        outcome, claims = "cancelled", 0
        try:
            result = await call_next(ctx)
            outcome, claims = _outcome_of(result), _claims_in(result)
        except MCPError:
            outcome = "protocol_error"
            raise
        except Exception:
            outcome = "error"
            raise
        finally:
            params = ctx.params or {}
            name = params.get("name")
            call = MeasuredCall(
                tool=name if isinstance(name, str) and name in self._names else _UNKNOWN,
                outcome=outcome,
                began_ns=began_ns,
                seconds=time.perf_counter() - start,
                claims=claims,
                protocol=ctx.protocol_version or "",
                parent=_parent_in(params.get("_meta")),
            )
            self._tell(call)
        return result


def _outcome_of(result: HandlerResult) -> str:
    """Return `ok`, or the code that the text of a refusal carries."""
    if isinstance(result, types.CallToolResult):
        result = result.model_dump(by_alias=True, mode="json")
    if not isinstance(result, Mapping) or not result.get("isError"):
        return "ok"
    try:
        return str(json.loads(result["content"][0]["text"])["code"])
    except (KeyError, IndexError, TypeError, ValueError):
        return "error"


def _claims_in(result: HandlerResult) -> int:
    """Return how many leases an answer gave: those of its decisions, or that of a start."""
    answer = result.get("structuredContent") if isinstance(result, Mapping) else None
    if not isinstance(answer, Mapping):
        return 0
    given = [each for each in answer.get("decisions") or () if "lease" in each]
    return len(given) + ("lease" in answer and "node_status" not in answer)


def _parent_in(meta: object) -> dict[str, str]:
    """Return the trace context of a request (W3C), where it carries one."""
    if not isinstance(meta, Mapping):
        return {}
    found = {name: meta[name] for name in _TRACE_KEYS if isinstance(meta.get(name), str)}
    return {name: text for name, text in found.items() if len(text) <= _LONGEST_CONTEXT}
