"""A second process on a ledger: `python -m tests.unit.adapters.ledger_child ACTION ROOT ARGUMENT…`.

It must not know what a test expects. It prints each event once it is acknowledged, and the error that ended it.
"""

import os
import resource
import sys
from collections.abc import Callable
from functools import partial

from metagit_mcp.adapters.fault_points import arm_fault, die_at
from metagit_mcp.adapters.sqlite import SqliteEventStore, making, opened
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.ledger import InboxEntry, LedgerMark
from tests.unit.adapters.child import become_nobody

# Loaded before any right is given up: the interpreter may lie where only its owner can read.
LOADED = (making, opened)


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 - the parent reads it


def new_id() -> str:
    return os.urandom(16).hex()


def put(store: SqliteEventStore, text: str, size: int = 0) -> None:
    """Append two events in one block and say so when they are durable."""
    with store.writing(LedgerMark(), new_id) as writer:
        writer.append([("first", 1, text.encode()), ("second", 1, text.encode() + b"x" * size)])
    say(text)


def append(root: str, tag: str, count: str) -> None:
    """Append block after block."""
    store = SqliteEventStore(root, busy_seconds=30)
    for number in range(int(count)):
        put(store, f"{tag}{number}")


def race(root: str, tag: str, count: str) -> None:
    """Wait until the parent lets go, so that all start at once."""
    say("ready")
    sys.stdin.readline()
    append(root, tag, count)


def die(root: str, point: str, count: str) -> None:
    """Append so many blocks, then one more in which the fault point kills."""
    store = SqliteEventStore(root)
    for number in range(int(count)):
        put(store, f"t{number}")
    arm_fault(point, partial(die_at, point))
    put(store, "last")


def die_holding(root: str, point: str) -> None:
    """Put a held Group Event and an event in one block in which the fault point kills."""
    store = SqliteEventStore(root)
    arm_fault(point, partial(die_at, point))
    with store.writing(LedgerMark(), new_id) as writer:
        writer.inbox("g").put([InboxEntry(sequence=2, event_key=b"k" * 16, digest=b"d" * 16, body=b"{}")])
        writer.append([("kind", 1, b"c")])


def hold(root: str) -> None:
    """Stay in a block until stdin ends, and append nothing."""
    with SqliteEventStore(root).writing(LedgerMark(), new_id):
        say("held")
        sys.stdin.read()


def limited(root: str, limit: str) -> None:
    """Append where no file may grow beyond `limit`, which is what a full disk looks like, until it no longer does."""
    store = SqliteEventStore(root)
    put(store, "before")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), hard))
    for _ in range(2):
        try:
            put(store, "too much", size=int(limit))
        except MetagitError as error:
            say(error.code, error.message)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    put(store, "after")


def look(root: str) -> None:
    """Read as a user who owns nothing."""
    become_nobody()
    store = SqliteEventStore(root)
    say(store.mark().position, len(store.read(0)), store.snapshot())


def look_and_put(root: str) -> None:
    """Read as a user who owns nothing, and try to write."""
    look(root)
    put(SqliteEventStore(root), "mine")


ACTIONS: dict[str, Callable[..., None]] = {
    action.__name__: action for action in (append, race, die, die_holding, hold, limited, look, look_and_put)
}


def main(action: str, *arguments: str) -> None:
    """Do one thing; the last line is the code and message of the error that ended it."""
    try:
        ACTIONS[action](*arguments)
    except MetagitError as error:
        say(error.code, error.message)


if __name__ == "__main__":
    main(*sys.argv[1:])
