"""What is said at each event. The application is loaded only by those that look at a workspace with work in it."""

from collections.abc import Mapping

from metagit_mcp.interfaces.hooks.calls import Call
from metagit_mcp.interfaces.hooks.hosts import Said, silent
from metagit_mcp.interfaces.hooks.identity import is_worker
from metagit_mcp.interfaces.hooks.stamp import stamped


def answer_to(call: Call, given: dict[str, object], environ: Mapping[str, str]) -> Said:
    """Return what is said to a host that gave this JSON.

    At the end of a session there is nothing to do: the server sees the end of its input, and gives the leases back.
    """
    if call.event == "stamp-agent":
        return stamped(call.host, given, environ)
    if call.event == "session-start":
        from metagit_mcp.interfaces.hooks.session_start import briefed  # noqa: PLC0415 - only this event needs it

        return briefed(call.host, given, environ)
    if call.event in {"stop", "teammate-idle"} and is_worker(environ):
        from metagit_mcp.interfaces.hooks.turn_end import idled, stopped  # noqa: PLC0415 - only worker mode needs it

        return (stopped if call.event == "stop" else idled)(call.host, given, environ)
    return silent(call.host)
