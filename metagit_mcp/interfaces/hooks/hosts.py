"""How each host wants an answer: its JSON, with documented keys only. Knows neither events nor what is said.

Claude Code takes a new input without a decision about permission, so none is made there. Codex refuses one without
`allow`, and asks the user elsewhere; Cursor documents the decision as part of the answer (ADR 0040).
"""

Record = dict[str, object]


class Said:
    """What a hook says: JSON for the host, or feedback for the agent; and what went wrong, for whoever looks."""

    __slots__ = ("complaint", "feedback", "record")

    def __init__(self, record: Record | None = None, *, feedback: str = "", complaint: str = "") -> None:
        """Say nothing where nothing is given."""
        self.record = record
        self.feedback = feedback
        self.complaint = complaint


def silent(host: str, complaint: str = "") -> Said:
    """Say nothing; Cursor expects JSON even so."""
    return Said({} if host == "cursor" else None, complaint=complaint)


def with_context(host: str, text: str) -> Said:
    """Tell an agent something when its session begins."""
    if host == "cursor":
        return Said({"additional_context": text})
    return Said(_specific("SessionStart", additionalContext=text))


def with_input(host: str, tool_input: Record) -> Said:
    """Let a tool be called with this input instead."""
    if host == "cursor":
        return Said({"permission": "allow", "updated_input": tool_input})
    if host == "codex":
        return Said(_specific("PreToolUse", permissionDecision="allow", updatedInput=tool_input))
    return Said(_specific("PreToolUse", updatedInput=tool_input))


def going_on(host: str, event: str, text: str) -> Said:
    """Keep an agent from ending its turn, with a reason that it reads."""
    if host == "cursor":
        return Said({"followup_message": text})
    if host == "codex":
        return Said({"decision": "block", "reason": text})
    return Said(_specific("SubagentStop" if event == "SubagentStop" else "Stop", additionalContext=text))


def _specific(event: str, **fields: object) -> Record:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}
