"""Stands between a host and the server, and writes down what they say: `between.py RECORD REFUSED PROGRAM WORDS`.

REFUSED is a method that it answers itself as unknown, so that a host goes on as with an older server; `-` for none.
It runs on the standard library alone, and must not know what the frames mean.
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

# What a host tells a server besides its frames.
TOLD = ("CLAUDE_PROJECT_DIR", "METAGIT_AGENT_ID", "METAGIT_LEDGER", "METAGIT_WORKSPACE", "PLUGIN_ROOT")


class Record:
    """What was said, one line of JSON for each frame, in the order in which it came through."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def add(self, **entry: object) -> None:
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(entry)}\n")


def passed_on(lines: IO[bytes], to: IO[bytes], record: Record, who: str) -> None:
    """Hand each line on, and write it down before."""
    for line in lines:
        record.add(by=who, frame=json.loads(line))
        to.write(line)
        to.flush()
    to.close()


def refusal(line: bytes, refused: str) -> bytes | None:
    """The answer to a request of the refused method; None for anything else."""
    frame = json.loads(line)
    if frame.get("method") != refused or "id" not in frame:
        return None
    error = {"code": -32601, "message": "Method not found"}
    return json.dumps({"jsonrpc": "2.0", "id": frame["id"], "error": error}).encode() + b"\n"


def main(record: Record, refused: str, command: list[str]) -> int:
    """Run the server until either side ends; return its exit code."""
    record.add(cwd=str(Path.cwd()), env={name: os.environ[name] for name in TOLD if name in os.environ})
    host, out = sys.stdin.buffer, sys.stdout.buffer
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        threading.Thread(target=passed_on, args=(server.stdout, out, record, "server"), daemon=True).start()
        for line in host:
            if answer := refusal(line, refused):
                record.add(by="host", frame=json.loads(line))
                record.add(by="between", frame=json.loads(answer))
                out.write(answer)
                out.flush()
                continue
            record.add(by="host", frame=json.loads(line))
            server.stdin.write(line)
            server.stdin.flush()
        server.stdin.close()
        return server.wait(20)


if __name__ == "__main__":
    sys.exit(main(Record(Path(sys.argv[1])), sys.argv[2], sys.argv[3:]))
