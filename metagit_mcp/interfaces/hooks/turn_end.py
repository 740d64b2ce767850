"""What a worker is told when its turn ends: of a lease that it still holds, or of the node that it could take next.

Each fact is told once. After a hand-over nothing is said until a lease was finished, so no turn goes round in circles
(ADR 0040). It takes no work itself: a lease of this process would have nobody to keep it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from metagit_mcp.interfaces.hooks.facts import answered
from metagit_mcp.interfaces.hooks.hosts import Said, going_on, silent
from metagit_mcp.interfaces.hooks.identity import agent_of, session_of, text_of
from metagit_mcp.interfaces.hooks.memory import Memory

if TYPE_CHECKING:
    from metagit_mcp.application.briefing import HeldWork, NextWork, TurnEnd

# As long as one of these holds something, the session is not over but waits.
_UNDER_WAY = ("background_tasks", "session_crons")


def stopped(host: str, given: Mapping[str, object], environ: Mapping[str, str]) -> Said:
    """Return why the agent should go on, or nothing."""
    agent_id = agent_of(given, environ)
    if agent_id is None or _is_waiting(host, given):
        return silent(host)

    def said(end: "TurnEnd") -> Said:
        memory = Memory.of(agent_id, session_of(given), environ)
        text = _still_active(end, memory) if end.held else _handed_over(end, memory)
        return going_on(host, text_of(given, "hook_event_name"), text) if text else silent(host)

    return answered(host, lambda briefings: briefings.at_end_of_turn(agent_id), given, environ, said)


def idled(host: str, given: Mapping[str, object], environ: Mapping[str, str]) -> Said:
    """Return what keeps a teammate of Claude Code from going idle: the next node, if there is one that is new to it."""
    agent_id = agent_of(given, environ)
    if agent_id is None or host != "claude":
        return silent(host)

    def said(end: "TurnEnd") -> Said:
        text = _handed_over(end, Memory.of(agent_id, session_of(given), environ))
        return Said(feedback=text) if text else silent(host)

    return answered(host, lambda briefings: briefings.at_end_of_turn(agent_id), given, environ, said)


def _is_waiting(host: str, given: Mapping[str, object]) -> bool:
    """Say whether the turn did not end by itself, or is not the end; in plan mode nothing is to be worked on."""
    if host == "cursor":
        # Its sub-agents cannot be told from their parent.
        return given.get("status") != "completed" or given.get("hook_event_name") == "subagentStop"
    return given.get("permission_mode") == "plan" or any(_others(given, name) for name in _UNDER_WAY)


def _others(given: Mapping[str, object], name: str) -> bool:
    """Say whether something is under way; a sub-agent that ends is itself among the tasks of its parent."""
    tasks, own = given.get(name), text_of(given, "agent_id")
    if not isinstance(tasks, list) or not own:
        return bool(tasks)
    return any(not isinstance(task, dict) or task.get("id") != own for task in tasks)


def _still_active(end: "TurnEnd", memory: Memory) -> str:
    names = ",".join(each.lease_id for each in end.held)
    return _active_text(end.held) if memory.note(f"active:{names}") else ""


def _handed_over(end: "TurnEnd", memory: Memory) -> str:
    if end.held or end.reported is None or end.next is None:
        return ""
    return _next_text(end.reported, end.next) if memory.note(f"after:{end.reported}", end.next) else ""


def _active_text(held: "tuple[HeldWork, ...]") -> str:
    first, more = held[0], len(held) - 1
    others = f" {more} more of this agent's leases are active too." if more else ""
    return (
        f"metagit: lease {first.lease_id} on node {first.node_id} of graph {first.graph_id} is still active, and how "
        f"the work stands is not known.{others} Go on with it, or report with metagit_work_report (lease_id "
        f"{first.lease_id}): completed, checkpointed, paused, blocked, failed or released."
    )


def _next_text(reported: str, found: "NextWork") -> str:
    why = ", ".join(found.reasons[:5])
    return (
        f"metagit: lease {reported} is reported. Next for this agent: node {found.node_id} of graph {found.graph_id} "
        f"(score {found.score:g}; {why}). Take it with metagit_schedule_next and claim true."
    )
