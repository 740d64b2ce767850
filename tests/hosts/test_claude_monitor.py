"""The monitor of the plugin, in a session with a terminal: it begins with the skill, and the agent hears what it says.

Must not know: how the program words a change, beyond its kind.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.hosts.client import PROGRAM
from tests.hosts.fake_anthropic import fake_anthropic
from tests.hosts.terminal import Terminal, settle_in
from tests.interfaces.mcp.live import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.hosts.client import Client, Home

pytestmark = pytest.mark.hosts

PROMPT = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}\N{NO-BREAK SPACE}"
SKILL = "/metagit:work-loop"
# A change that is made before the monitor looks is not told; so it is made again.
TRIES = 10
TRY_SECONDS = 3
ENDED = 143  # asked by a signal


@pytest.mark.timeout(180)
def test_the_monitor_begins_with_the_skill_and_the_agent_hears_it(
    claude_with_plugin: Client, home: Home, workspace: Path
) -> None:
    calls, folder = home.path / "calls", workspace / "web/src"
    program = shlex.quote(str(PROGRAM))
    home.put_program(f'echo "$1 $$" >> {shlex.quote(str(calls))}', f'exec {program} "$@"')
    with fake_anthropic(lambda _: "done") as model:
        variables = model.environment()
        settle_in(home, folder, variables["ANTHROPIC_API_KEY"])
        with Terminal(claude_with_plugin, cwd=folder, **variables) as terminal:
            assert terminal.until(lambda: PROMPT in terminal.shown), terminal.shown
            terminal.type(SKILL)
            assert terminal.until(lambda: SKILL in terminal.shown), terminal.shown
            assert started(calls, "watch") is None
            terminal.type("\r")
            assert terminal.until(lambda: len(model.asked) == 1), terminal.shown
            assert terminal.until(lambda: started(calls, "watch") is not None), terminal.shown
            heard = any(told(workspace, terminal, lambda: len(model.asked) > 1) for _ in range(TRIES))
            code = terminal.end()

    assert heard
    assert "Work through the task graphs of this workspace" in model.asked[0].said
    assert "<task-notification>" in model.asked[1].last
    assert re.search("scheduling_(paused|resumed)", model.asked[1].last)
    assert code == ENDED
    until(lambda: is_gone(started(calls, "watch")))


def started(calls: Path, command: str) -> int | None:
    """The process of the first run of a command, if there was one."""
    runs = (line.split() for line in calls.read_text(encoding="utf-8").splitlines())
    return next((int(process) for word, process in runs if word == command), None)


def is_gone(process: int | None) -> bool:
    assert process is not None
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def told(workspace: Path, terminal: Terminal, is_heard: Callable[[], bool]) -> bool:
    """Pause the work, and let it go on: both are changes that an agent wants to hear."""
    for command in ("pause", "resume"):
        words = [str(PROGRAM), command, "--workspace", str(workspace)]
        subprocess.run(words, capture_output=True, timeout=30, check=True)
    return terminal.until(is_heard, TRY_SECONDS)
