"""Logs survive torn lines, garbage, two writers and replacement; the plain reading of the bytes is the oracle."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.adapters import fault_points, json_lines
from metagit_mcp.adapters.json_lines import (
    LINE_LIMIT,
    START,
    Growth,
    Position,
    Tail,
    TailFollower,
    append_lines,
    tail_lines,
)
from metagit_mcp.adapters.refusals import FileRefused
from metagit_mcp.errors import StoreUnavailable
from tests.unit.adapters import children

LOG_BYTES = st.lists(st.sampled_from([b"\n", b"a", b"{}", b"\0", b"\xff", b" ", b"\r", "\u2028".encode()])).map(
    b"".join
)


def append(path: Path, *rows: bytes) -> None:
    append_lines(path, rows, root=path.parent, kind="events", mode=0o644)


def tail(path: Path, limit_rows: int = 100, chunk: int = 7) -> Tail:
    return tail_lines(path, root=path.parent, limit_rows=limit_rows, chunk=chunk)


def rows_of(raw: bytes) -> list[bytes]:
    return [line for line in raw.split(b"\n")[:-1] if line.strip()]


@pytest.fixture
def log(schedule: Path) -> Path:
    return schedule / "decisions.jsonl"


def test_rows_are_appended_in_order_and_nothing_else_is_touched(log: Path) -> None:
    append(log, b"1", "2\u2028".encode())
    append(log)
    append(log, b"3")
    assert log.read_bytes() == "1\n2\u2028\n3\n".encode()
    assert stat.S_IMODE(log.stat().st_mode) == 0o644


def test_a_row_of_two_lines_is_a_fault_of_the_caller(log: Path) -> None:
    with pytest.raises(ValueError, match="a record of a log is one line"):
        append(log, b"1\n2")
    assert not log.exists()


@given(cut=st.integers(0, 40))
def test_a_torn_line_is_closed_and_never_appended_onto(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    log = tmp_path_factory.mktemp("log") / "log.jsonl"
    whole = b'{"id": 1}\n{"id": 2, "title": "\xd7\xa9"}\n'
    former = whole[:cut]
    log.write_bytes(former)
    append(log, b'{"id": 3}')
    closed = former if former.endswith(b"\n") or not former else former + b"\n"
    assert log.read_bytes() == closed + b'{"id": 3}\n'


def test_a_full_disk_in_the_middle_of_an_append_leaves_the_former_log(root: Path, log: Path) -> None:
    log.write_bytes(b"1\n" * 2_000)
    said = "STORE_UNAVAILABLE .metagit/schedule/decisions.jsonl cannot be written: File too large."
    assert children.run("write_limited", root, log, "decisions", "4096", "300") == (0, said, "")
    assert log.read_bytes() == b"1\n" * 2_000


def test_what_a_write_left_behind_before_it_failed_is_taken_back(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(log, b"1")
    write = os.write
    lengths = iter([2, 1])

    def shrinking_disk(fd: int, raw: bytes) -> int:
        length = next(lengths, 0)
        if not length:
            raise OSError(errno.ENOSPC, "")
        return write(fd, raw[:length])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", shrinking_disk)
        with pytest.raises(StoreUnavailable, match="No space left on device") as caught:
            append(log, b"22222", b"33333")
    assert caught.value.retryable
    assert log.read_bytes() == b"1\n"
    append(log, b"4")
    assert log.read_bytes() == b"1\n4\n"


def test_an_append_passes_its_fault_points_in_order(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault_points, "_armed", {})
    seen = []
    for step in ("locked", "appended_half", "appended"):
        fault_points.arm_fault(f"events.{step}", lambda: seen.append(log.read_bytes()))
    append(log, b"123")
    assert seen == [b"", b"12", b"123\n"]


@pytest.mark.parametrize("target", ["/dev/full", "/dev/null"])
def test_a_log_that_is_a_link_to_a_device_is_refused(log: Path, target: str) -> None:
    log.symlink_to(target)
    with pytest.raises(FileRefused, match="leads out of the workspace"):
        append(log, b"1")
    with pytest.raises(FileRefused, match="leads out of the workspace"):
        tail(log)


def test_eight_processes_append_at_once_and_no_line_is_lost_or_torn(root: Path, log: Path) -> None:
    writers = [children.start("append", root, log, "50", str(tag)) for tag in range(8)]
    assert [children.finish(writer) for writer in writers] == [(0, "done", "")] * 8
    rows = [json.loads(line) for line in log.read_bytes().splitlines()]
    numbers = {tag: [row["number"] for row in rows if row["tag"] == str(tag)] for tag in range(8)}
    assert numbers == {tag: list(range(50)) for tag in range(8)}


def test_an_append_waits_for_another_tool(root: Path, log: Path) -> None:
    holder = children.start("hold", root, log)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(StoreUnavailable, match="is locked by another process"):
        append_lines(log, [b"1"], root=root, kind="decisions", mode=0o600, timeout=0.01)
    assert children.finish(holder) == (0, "done", "")
    assert log.read_bytes() == b""


def test_a_missing_log_is_empty(log: Path) -> None:
    assert tail(log) == Tail((), b"", 0, complete=True, end=START)


@given(raw=LOG_BYTES, chunk=st.integers(1, 9), limit=st.integers(0, 6))
def test_the_tail_is_the_end_of_a_plain_reading(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, chunk: int, limit: int
) -> None:
    log = tmp_path_factory.mktemp("log") / "log.jsonl"
    log.write_bytes(raw)
    found = tail(log, limit, chunk)
    end = raw.rfind(b"\n") + 1
    rows = rows_of(raw)
    assert found.rows == tuple(rows[::-1][:limit])
    assert found.torn == raw[end:]
    assert found.dropped == 0
    assert found.complete or len(found.rows) == limit
    assert not (found.complete and len(rows) > limit)
    assert found.end == Position(log.stat().st_ino, end, raw[max(0, end - 64) : end])


@given(pieces=st.lists(LOG_BYTES, max_size=6), first=LOG_BYTES)
def test_a_follower_gives_each_complete_line_once(
    tmp_path_factory: pytest.TempPathFactory, first: bytes, pieces: list[bytes]
) -> None:
    log = tmp_path_factory.mktemp("log") / "log.jsonl"
    log.write_bytes(first)
    found = tail(log)
    follower = TailFollower(log, root=log.parent, after=found.end)
    rows = list(found.rows[::-1])
    for piece in pieces:
        with log.open("ab") as opened:
            opened.write(piece)
        growth = follower.drain()
        assert growth == Growth(growth.rows)
        rows.extend(growth.rows)
        assert follower.drain() == Growth()
    assert rows == rows_of(first + b"".join(pieces))


def test_only_the_end_of_a_long_log_is_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_bytes(b"".join(b"%06d\n" % number for number in range(100_000)))
    read: list[int] = []
    pread = os.pread

    def counted(fd: int, length: int, offset: int) -> bytes:
        read.append(length)
        return pread(fd, length, offset)

    monkeypatch.setattr(os, "pread", counted)
    found = tail(log, 3, 64)
    assert found.rows == (b"099999", b"099998", b"099997")
    assert not found.complete
    assert read == [64, 64]


@pytest.mark.parametrize(
    ("raw", "rows", "torn", "dropped"),
    [
        (b"1\n" + b"x" * (LINE_LIMIT + 1) + b"\n2\n", (b"2", b"1"), b"", 1),
        (b"1\n" + b"x" * LINE_LIMIT + b"\n2\n", (b"2", b"x" * LINE_LIMIT, b"1"), b"", 0),
        (b"1\n" + b"x" * (LINE_LIMIT + 1), (b"1",), b"", 1),
        (b"x" * (3 * LINE_LIMIT) + b"\n1\n", (b"1",), b"", 1),
        (b"x" * (3 * LINE_LIMIT), (), b"", 1),
    ],
)
def test_an_endless_line_costs_only_itself(
    log: Path, raw: bytes, rows: tuple[bytes, ...], torn: bytes, dropped: int
) -> None:
    log.write_bytes(raw)
    found = tail(log, chunk=65_536)
    assert (found.rows, found.torn, found.dropped, found.complete) == (rows, torn, dropped, True)
    growth = TailFollower(log, root=log.parent).drain()
    assert growth == Growth(rows[::-1], dropped)


def test_an_endless_line_is_counted_once_while_it_grows(log: Path) -> None:
    follower = TailFollower(log, root=log.parent)
    growths = []
    for piece in (b"1\n" + b"x" * LINE_LIMIT, b"x", b"x", b"x\n2\n3", b"\n"):
        with log.open("ab") as opened:
            opened.write(piece)
        growths.append(follower.drain())
    assert growths == [Growth((b"1",)), Growth((), 1), Growth(), Growth((b"2",)), Growth((b"3",))]


def test_one_call_reads_no_more_than_its_limit(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "SCAN_LIMIT", 8)
    log.write_bytes(b"\n" * 20 + b"11\n22\n33\n")
    assert tail(log).rows == (b"33", b"22")
    assert not tail(log).complete
    log.write_bytes(b"x" * 20)
    assert tail(log).end == Position(log.stat().st_ino, 12, b"x" * 12)

    log.write_bytes(b"11\n22\n33\n44\n")
    follower = TailFollower(log, root=log.parent)
    assert follower.drain() == Growth((b"11", b"22"), more=True)
    assert follower.drain() == Growth((b"33", b"44"))
    assert follower.drain() == Growth()


def test_a_follower_starts_again_when_the_log_is_replaced_truncated_or_gone(log: Path) -> None:
    follower = TailFollower(log, root=log.parent)
    assert follower.drain() == Growth()
    log.write_bytes(b"1\n2\n")
    assert follower.drain() == Growth((b"1", b"2"))

    (log.parent / "new").write_bytes(b"1\n2\n3\n")
    (log.parent / "new").rename(log)
    assert follower.drain() == Growth((b"1", b"2", b"3"), restarted=True)

    log.write_bytes(b"4\n")
    assert follower.drain() == Growth((b"4",), restarted=True)

    log.write_bytes(b"5\n6\n7\n8\n")
    assert follower.drain() == Growth((b"5", b"6", b"7", b"8"), restarted=True)

    log.unlink()
    assert follower.drain() == Growth(restarted=True)
    assert follower.drain() == Growth()
    append(log, b"9")
    assert follower.drain() == Growth((b"9",))


def test_a_failing_disk_is_no_empty_log(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(log, b"1")

    def broken(_fd: int, _length: int, _offset: int) -> bytes:
        raise OSError(5, "")

    follower = TailFollower(log, root=log.parent)
    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", broken)
        with pytest.raises(FileRefused, match="Input/output error"):
            tail(log)
        with pytest.raises(FileRefused, match="Input/output error"):
            follower.drain()
    assert follower.drain() == Growth((b"1",))


def test_a_follower_keeps_its_place_while_the_log_cannot_be_used(log: Path) -> None:
    follower = TailFollower(log, root=log.parent)
    append(log, b"1")
    assert follower.drain() == Growth((b"1",))
    log.rename(log.parent / "aside")
    log.symlink_to(log.name)
    with pytest.raises(FileRefused, match="is a link that leads nowhere"):
        follower.drain()
    (log.parent / "aside").rename(log)
    append(log, b"2")
    assert follower.drain() == Growth((b"2",))
