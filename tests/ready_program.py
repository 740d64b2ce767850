"""A process that has loaded the program and becomes a new process of it on request: `python -m tests.ready_program FD`.

Each new process is a fork with its own arguments, environment, folder and streams, which goes on as `python` does.
Only the loading of modules is not repeated. It must not open a file nor start a thread before it forks.
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import socket
import sys
import time
from pathlib import Path

# What commands and the server load when they run. What an extra brings is loaded by whoever needs it.
_ADAPTERS = (
    "changes",
    "decision_log",
    "graph_store",
    "imported_lists",
    "host_facts",
    "host_files",
    "policy_file",
    "schema_files",
    "system",
    "workspace_source",
)
_LOADED = (
    "metagit_mcp.domain",
    "metagit_mcp.wire",
    "metagit_mcp.scheduling",
    "metagit_mcp.application",
    "metagit_mcp.adapters.sqlite",
    "metagit_mcp.interfaces.cli",
    "metagit_mcp.interfaces.hooks",
    "metagit_mcp.interfaces.mcp",
)
_BLOCK = 1 << 18
# A module or a script with its arguments, the environment, the folder, and whether it leads a session of its own.
Asked = tuple[list[str], dict[str, str], str, bool]


def main(fd: int) -> None:
    """Load, fork until the requests end, and be the program in each fork."""
    load()
    with socket.socket(fileno=fd) as line:
        became = forked(line)
    if became is not None:
        (name, *arguments), environ, folder, leads = became[0]
        become(environ, folder, became[1], leads=leads)
        sys.argv[1:] = arguments
        if name.endswith(".py"):
            sys.path[0] = str(Path(name).parent)
            runpy.run_path(name, run_name="__main__")
        else:
            runpy.run_module(name, run_name="__main__", alter_sys=True)


def load() -> None:
    """Import the program with all that it may import later."""
    importlib.import_module("metagit_mcp.bootstrap")
    for name in _ADAPTERS:
        importlib.import_module(f"metagit_mcp.adapters.{name}")
    for package in _LOADED:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def forked(line: socket.socket) -> tuple[Asked, list[int]] | None:
    """Fork for each request; returns in each new process with what it is to be, and with None where the requests end.

    The process between the two ends at once, so that the new one becomes a child of whoever asked; it waits for that.
    """
    while (asked := _request(line)) is not None:
        told, telling = os.pipe()
        held, holding = os.pipe()
        between = os.fork()
        if not between:
            new = os.fork()
            if not new:
                os.close(holding)
                os.read(held, 1)
                return asked
            os.write(telling, b"%8d" % new)
            os._exit(0)
        os.waitpid(between, 0)
        line.sendall(os.read(told, 8))
        for fd in (*asked[1], told, telling, held, holding):
            os.close(fd)
    return None


def _request(line: socket.socket) -> tuple[Asked, list[int]] | None:
    head, streams, _, _ = socket.recv_fds(line, 8, 3)
    if not head:
        return None
    size, data = int(head, 16), b""
    while len(data) < size:
        data += line.recv(min(_BLOCK, size - len(data)))
    return tuple(json.loads(data)), streams


def become(environ: dict[str, str], folder: str, streams: list[int], *, leads: bool) -> None:
    """Take on what a process gets from whoever starts it."""
    if leads:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    os.chdir(folder)
    sys.path[0] = folder
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        opened = _stream(number, getattr(sys, name))
        setattr(sys, name, opened)
        setattr(sys, f"__{name}__", opened)


def _stream(number: int, old: io.TextIOWrapper) -> io.TextIOWrapper:
    """A standard stream as the interpreter opens it: what it is connected to has changed."""
    mode, at_once = ("w" if number else "r"), bool(os.environ.get("PYTHONUNBUFFERED"))
    raw = open(number, f"{mode}b", 0 if number and at_once else -1, closefd=False)  # noqa: SIM115 - open to the end
    opened = io.TextIOWrapper(
        raw,
        old.encoding,
        old.errors,
        "\n" if number else None,
        line_buffering=not at_once and (old is sys.stderr or os.isatty(number)),
        write_through=at_once,
    )
    opened.mode = mode  # type: ignore[misc]  # as the interpreter does it
    return opened


if __name__ == "__main__":
    main(int(sys.argv[1]))
