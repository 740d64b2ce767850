"""Nothing acknowledged is lost, whoever is killed when: real processes, and a plain reading of the file as the oracle.

The oracle opens the ledger with sqlite3 and its own SQL; it shares nothing with the store.
"""

import json
import signal
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from metagit_mcp.adapters.fault_points import LEDGER_POINTS
from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.ports.ledger import LedgerMark
from tests.unit.adapters import children

CHILD = "ledger_child"
EVERY_WRITING = ("ledger.locked", "ledger.begun", "ledger.appended", "ledger.committed")


def rows(root: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(root / ".metagit/schedule/ledger.db")) as ledger:
        assert ledger.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return ledger.execute("SELECT position, kind, body FROM event ORDER BY position").fetchall()


def blocks(*texts: str) -> list[tuple[int, str, bytes]]:
    kinds = [(kind, text.encode()) for text in texts for kind in ("first", "second")]
    return [(position, kind, body) for position, (kind, body) in enumerate(kinds, 1)]


def workspace_id(root: Path) -> str:
    with closing(sqlite3.connect(root / ".metagit/schedule/ledger.db")) as ledger:
        ((found,),) = ledger.execute("SELECT workspace_id FROM ledger").fetchall()
    return str(found)


def append(root: Path, tag: str, count: int) -> list[str]:
    code, out, err = children.run("append", root, tag, str(count), module=CHILD)
    assert (code, err) == (0, "")
    return out.split()


@pytest.mark.parametrize("point", LEDGER_POINTS)
def test_a_kill_in_the_first_writing_of_all_leaves_nothing_that_stands_in_the_way(root: Path, point: str) -> None:
    assert children.run("die", root, point, "0", module=CHILD) == (-signal.SIGKILL, "", f"{point}\n")
    path = root / ".metagit/schedule/ledger.db"
    made = LEDGER_POINTS.index(point) >= LEDGER_POINTS.index("ledger.created")
    assert path.exists() is made
    left = ["last"] if point == "ledger.committed" else []
    assert (rows(root) if made else []) == blocks(*left)
    former = workspace_id(root) if made else None

    assert append(root, "next", 1) == ["next0"]
    assert rows(root) == blocks(*left, "next0")
    assert former in {None, workspace_id(root)}
    schedule = path.parent
    assert json.loads((schedule / "workspace.json").read_text()) == {"workspace_id": workspace_id(root)}
    ignored = {"ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db.lock"}
    assert set((schedule / ".gitignore").read_text().split()) == ignored
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("point", EVERY_WRITING)
def test_a_kill_in_a_later_writing_loses_nothing_acknowledged(root: Path, point: str) -> None:
    assert children.run("die", root, point, "3", module=CHILD) == (-signal.SIGKILL, "t0\nt1\nt2", f"{point}\n")
    # Committed and not yet acknowledged: it stands, and whoever asks again is told so.
    left = ["t0", "t1", "t2", *(["last"] if point == "ledger.committed" else [])]
    store = SqliteEventStore(str(root))
    assert store.mark() == LedgerMark(workspace_id=workspace_id(root), position=2 * len(left))
    assert [(each.position, each.kind, each.body) for each in store.read(0)] == blocks(*left)
    store.close()
    assert append(root, "next", 2) == ["next0", "next1"]
    assert rows(root) == blocks(*left, "next0", "next1")


@pytest.mark.parametrize("acknowledged", [1, 2, 17, 60])
def test_a_kill_at_any_instant_loses_nothing_acknowledged(root: Path, acknowledged: int) -> None:
    child = children.start("append", root, "t", "100000", module=CHILD)
    assert child.stdout is not None
    said = [child.stdout.readline() for _ in range(acknowledged)]
    child.kill()
    # All that it said, and what was read with the last of these lines.
    texts = "".join([*said, child.stdout.read()]).split()
    code, _, err = children.finish(child)
    assert (code, err) == (-signal.SIGKILL, "")
    kept = rows(root)
    # Committed in the instant before it could say so, or not at all; never half a block.
    assert kept in (blocks(*texts), blocks(*texts, f"t{len(texts)}"))
    assert append(root, "next", 1) == ["next0"]
    assert rows(root)[: len(kept)] == kept


def test_processes_that_make_the_ledger_at_once_make_one(root: Path) -> None:
    tags = ("a", "b", "c", "d", "e", "f")
    racers = [children.start("race", root, tag, "5", module=CHILD) for tag in tags]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    ended = [children.finish(racer) for racer in racers]
    assert ended == [(0, "\n".join(f"{tag}{number}" for number in range(5)), "") for tag in tags]
    kept = rows(root)
    assert [position for position, _, _ in kept] == list(range(1, 61))
    assert [kind for _, kind, _ in kept] == ["first", "second"] * 30
    assert [body for _, _, body in kept[::2]] == [body for _, _, body in kept[1::2]]
    for tag in tags:
        own = [body.decode() for _, kind, body in kept if kind == "first" and body.decode().startswith(tag)]
        assert own == [f"{tag}{number}" for number in range(5)]
    identity = json.loads((root / ".metagit/schedule/workspace.json").read_text())
    assert identity == {"workspace_id": workspace_id(root)}


def test_a_writer_that_is_killed_in_its_block_frees_the_next_one(root: Path) -> None:
    append(root, "t", 1)
    holder = children.start("hold", root, module=CHILD)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    next_one = children.start("append", root, "next", "1", module=CHILD)
    holder.kill()
    assert children.finish(holder) == (-signal.SIGKILL, "", "")
    assert children.finish(next_one) == (0, "next0", "")
    assert rows(root) == blocks("t0", "next0")


def test_a_full_disk_appends_nothing_and_the_next_write_works_once_there_is_room(root: Path) -> None:
    code, out, err = children.run("limited", root, str(200_000), module=CHILD)
    refused = "STORE_UNAVAILABLE .metagit/schedule/ledger.db cannot be used: the system failed to read or write it."
    assert (code, out.splitlines(), err) == (0, ["before", refused, refused, "after"], "")
    assert rows(root) == blocks("before", "after")
