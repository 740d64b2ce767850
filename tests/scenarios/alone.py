"""Runs commands of the program one after the other in this process, which ends with 99 at the first other program.

`python -m tests.scenarios.alone COMMANDS`, a JSON list of argument lists; the exit codes of all are told on standard
error at the end. It must not know what a command does.
"""

import json
import os
import sys

from metagit_mcp.interfaces.cli.main import main

STARTS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn"}


def refuse(event: str, given: object) -> None:
    """End loudly where another program would be started; ctypes finds the C library by the system's own list."""
    if event in STARTS and "ldconfig" not in str(given):
        os.write(2, f"{event} {given}\n".encode())
        os._exit(99)


if __name__ == "__main__":
    sys.addaudithook(refuse)
    codes = [main(command) for command in json.loads(sys.argv[1])]
    sys.stdout.flush()
    json.dump(codes, sys.stderr)
