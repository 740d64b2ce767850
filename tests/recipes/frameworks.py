"""Runs a recipe's program as its reader does: with the framework's own Python, in the workspace, `metagit-mcp` on PATH.

Must not know what the program does. No framework reports home from here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.interop.peer import environment, framework
from tests.recipes.shop import WAIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE: Final = Path(__file__).parent
_QUIET: Final = {
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "DO_NOT_TRACK": "1",
    "NO_PROXY": "127.0.0.1,localhost",
}
_KEYS: Final = ("OPENAI_", "ANTHROPIC_", "CLAUDE", "LANGSMITH_", "LANGCHAIN_", "TEMPORAL_")


def surroundings(folder: Path, **variables: str) -> dict[str, str]:
    """The environment of a program: a home of its own, nobody's keys, our commands first on PATH."""
    kept = {
        name: text for name, text in environment([Path(sys.executable).parent]).items() if not name.startswith(_KEYS)
    }
    return {**kept, **_QUIET, "HOME": str(folder), **variables}


@contextmanager
def running(
    page: str, *words: str | Path, cwd: Path, said: Path, **variables: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A Python program in the venv of a page, in a process group that ends with the block; `said` is all it prints."""
    command = [framework(page), *words]
    with said.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=surroundings(said.parent, **variables),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            # Also what it left behind.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=WAIT_S)


def ran(page: str, *words: str | Path, cwd: Path, said: Path, **variables: str) -> str:
    """Let a program come to its good end; all that it printed."""
    with running(page, *words, cwd=cwd, said=said, **variables) as process:
        code = process.wait(timeout=WAIT_S)
    text = said.read_text(encoding="utf-8", errors="replace")
    assert code == 0, text
    return text
