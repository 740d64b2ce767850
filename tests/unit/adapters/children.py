"""Starts the second process of `child.py` or a module like it and waits for it, always bounded."""

import subprocess
import sys
from pathlib import Path

from tests import ready

REPOSITORY = Path(__file__).resolve().parents[3]
SECONDS = 60


def start(action: str, *arguments: str | Path, module: str = "child") -> subprocess.Popen[str]:
    """Start the child with pipes on all three streams."""
    return ready.Popen(
        [sys.executable, "-m", f"tests.unit.adapters.{module}", action, *map(str, arguments)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Close the child's stdin and return its exit code, stdout and stderr."""
    with child:
        try:
            out, err = child.communicate(timeout=SECONDS)
        finally:
            child.kill()
    return child.returncode, out.strip(), err


def run(action: str, *arguments: str | Path, module: str = "child") -> tuple[int, str, str]:
    """Run the child to its end."""
    return finish(start(action, *arguments, module=module))
