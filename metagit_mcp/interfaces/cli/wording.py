"""Says in the words of the command line what an answer says in those of the tools: for people, never in JSON.

It must not know any answer: a text comes in, a text goes out, and commands that are in it already stay as they are.
"""

import re
from typing import Final

_COMMANDS: Final = {
    "metagit_schedule_next": "metagit-mcp schedule next",
    "metagit_schedule_status": "metagit-mcp schedule status",
    "metagit_schedule_policy": "metagit-mcp schedule policy",
    "metagit_work_start": "metagit-mcp work start",
    "metagit_work_report": "metagit-mcp work report",
    "metagit_group_deliver": "metagit-mcp group deliver",
    "metagit_group_estimate": "metagit-mcp group estimate",
    "metagit_task_plan": "metagit-mcp task plan",
    "metagit_task_update": "metagit-mcp task update",
    "action=show": "metagit-mcp schedule policy show",
    "action=preview": "metagit-mcp schedule policy preview",
    "action=set": "metagit-mcp schedule policy set",
    "claim=true": "--claim",
    "new_session=true": "--new-session",
    "preview=true": "--preview",
    "queue_only=true": "--queue-only",
}
# Only words that mean an argument wherever they stand; `nodes/0/node_id` is a place in a file, and stays.
_FLAGS: Final = (
    "after_group",
    "agent_id",
    "blocker_reason",
    "expected_revision",
    "expected_updated_at",
    "graph_id",
    "lease_id",
    "lease_seconds",
    "node_id",
    "rate_limited",
    "wait_seconds",
)
_COMMAND: Final = re.compile(rf"(?<![\w/.'\"-])(?:{'|'.join(_COMMANDS)})(?![\w-])")
_PAIR: Final = re.compile(rf"(?<![\w/.'\"-])({'|'.join(_FLAGS)}|detail|limit|recent|state|status)=(?=\w)")
_FLAG: Final = re.compile(rf"(?<![\w/.'\"-])({'|'.join(_FLAGS)})(?![\w/'\"=-])")


def for_people(text: str) -> str:
    """Return a sentence of an answer or an error with commands in place of tools, and flags in place of arguments."""
    text = _COMMAND.sub(lambda found: _COMMANDS[found[0]], text)
    text = _PAIR.sub(lambda found: f"{_flag(found[1])} ", text)
    return _FLAG.sub(lambda found: _flag(found[1]), text)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
