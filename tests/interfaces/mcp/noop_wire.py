"""Starts `noop_server.py` and says what it answers; shared by the tests of the transport."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

from tests.interfaces.mcp.raw_wire import Message, RawServer

Stream = int | IO[bytes]

HERE = Path(__file__).resolve()
SERVER = [sys.executable, str(HERE.with_name("noop_server.py"))]
# Buffers as hosts leave them: `PYTHONUNBUFFERED` would hide what an unflushed print does.
ENV = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
ENV["PYTHONPATH"] = str(HERE.parents[3])


CLEAN_EXIT = "lifespan entered\nlifespan left\nreturned\n"
LIMIT = 12 << 20


def start(*arguments: str, stdin: Stream = subprocess.PIPE, stdout: Stream = subprocess.PIPE) -> RawServer:
    return RawServer([*SERVER, *arguments], env=ENV, stdin=stdin, stdout=stdout)


def text_of(answer: Message) -> str:
    text: str = answer["result"]["content"][0]["text"]
    return text


def refusal(request_id: int | str, reason: str) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32600, "message": reason}}


NO_MESSAGE = "The line is not a JSON-RPC 2.0 message."
TOO_LONG = f"The message is longer than {LIMIT} bytes."
