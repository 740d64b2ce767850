"""Signs calls of our tools with the agent that makes them, so that sub-agents on one connection are told apart.

It looks at no file: it runs at every call of a tool.
"""

from collections.abc import Mapping

from metagit_mcp.interfaces.hooks.hosts import Said, silent, with_input
from metagit_mcp.interfaces.hooks.identity import agent_of, text_of

# The tools whose `agent_id` says who calls; that of metagit_task_update says whom a node would suit.
SIGNED = frozenset({"metagit_schedule_next", "metagit_work_start", "metagit_work_report"})
_FIELD = "agent_id"


def stamped(host: str, given: Mapping[str, object], environ: Mapping[str, str]) -> Said:
    """Return the input of the call with the id of its agent in it; nothing where one stands there, or none is known."""
    tool_input = given.get("tool_input")
    if _tool(text_of(given, "tool_name")) not in SIGNED or not isinstance(tool_input, dict):
        return silent(host)
    there = tool_input.get(_FIELD)
    agent_id = agent_of(given, environ)
    if agent_id is None or not (there is None or (isinstance(there, str) and not there.strip())):
        return silent(host)
    return with_input(host, {**tool_input, _FIELD: agent_id})


def _tool(name: str) -> str:
    """Return the tool of a name such as `mcp__metagit__metagit_schedule_next` or `MCP:metagit_work_start`."""
    if name.startswith("mcp__"):
        return name.rpartition("__")[2]
    return name.removeprefix("MCP:") if name.startswith("MCP:") else ""
