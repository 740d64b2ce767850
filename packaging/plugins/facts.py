"""What the plugin is, once for all hosts: its name, server, hooks and loop. It must not know the format of any host."""

from dataclasses import dataclass
from typing import Final

from metagit_mcp import __version__
from metagit_mcp.wire.host_files import host_entries
from metagit_mcp.wire.work_loop import CAUTION, IN_ONE_LINE, STEPS

NAME: Final = "metagit"
# Short, because hosts build the names of tools from both: 64 characters is what they allow.
SERVER: Final = "sched"
SKILL: Final = "work-loop"
TITLE: Final = "Metagit scheduler"
VERSION: Final = __version__
LICENSE: Final = "MIT"
AUTHOR: Final = {"name": "metagit_mcp contributors"}
SHORT: Final = "Your next task, in a fair order, under a lease"
DESCRIPTION: Final = (
    "Hands out the tasks of a workspace to coding agents: each task to one agent at a time, in a fair order, with the "
    "reason for it."
)
KEYWORDS: Final = ("agents", "mcp", "scheduler", "task-graph")

PROGRAM: Final = host_entries.PROGRAM
SERVE: Final = ("serve",)
# The longest wait of the server, for a host whose time-out can be set; the time-out is that and what work takes.
LONG_WAIT: Final = ("--max-wait", "300")
TOOL_TIMEOUT_S: Final = 330
# What the server reads of its environment, for a host that hands over only what is named.
VARIABLES: Final = host_entries.HANDED_OVER

# The words of the prompt `work_loop`, and of what AGENTS.md gets.
LOOP: Final = f"{STEPS.format(named='')}\n{CAUTION}"
IN_SHORT: Final = IN_ONE_LINE

# A stopped agent goes on by itself at most so many times; the hook itself ends sooner where nothing is reported.
LOOP_LIMIT: Final = 20
# What an agent may want to hear while it waits: something became free, or somebody asks something of it.
HEARD: Final = (
    *("approval_granted", "lease_expired", "ownership_revoked", "preemption_requested", "resource_reopened"),
    *("result_accepted", "result_rejected", "scheduling_paused", "scheduling_resumed", "work_completed"),
    *("work_released", "work_retried", "work_unblocked", "graph_added", "file_status"),
)


# The tools whose `agent_id` says who asks; no other call has to wait for a hook.
ASKING: Final = ("metagit_schedule_next", "metagit_work_start", "metagit_work_report")


@dataclass(frozen=True)
class Hook:
    """One event of `metagit-mcp hook`, and the events of each host that lead to it; none where a host has none.

    `tools` limits it to some tools of our server; `seconds` is how long a host waits for it at most.
    """

    event: str
    claude: tuple[str, ...]
    codex: tuple[str, ...]
    cursor: tuple[str, ...]
    seconds: int
    tools: tuple[str, ...] = ()
    status: str = ""


# Nothing at the end of a session: the server sees the end of its input.
HOOKS: Final = (
    Hook("session-start", ("SessionStart",), ("SessionStart",), ("sessionStart",), 10, status="Looking for a task"),
    Hook("stamp-agent", ("PreToolUse",), ("PreToolUse",), ("preToolUse",), 5, ASKING),
    Hook("stop", ("Stop", "SubagentStop"), ("Stop", "SubagentStop"), ("stop",), 10),
    Hook("teammate-idle", ("TeammateIdle",), (), (), 10),
)
