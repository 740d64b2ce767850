"""What is no JSON is found in a log and taken out of it, and not one other byte changes its place."""

import fcntl
from pathlib import Path

import pytest

from metagit_mcp.adapters.json_lines import LINE_LIMIT
from metagit_mcp.adapters.log_lines import LogFaults, log_faults, mend_log
from metagit_mcp.adapters.refusals import FileRefused
from metagit_mcp.errors import StoreUnavailable

ROW = b'{"a": 1}'
TOO_LONG = b"x" * (LINE_LIMIT + 1)
FOUND: list[tuple[bytes, LogFaults]] = [
    (b"", LogFaults()),
    (b"\n\n  \n" + ROW + b"\n", LogFaults()),
    # What other readers take is no garbage.
    (b'{"score": NaN}\n[1]\n\xef\xbb\xbf{}\n', LogFaults()),
    (ROW + b"\ngarbage\n" + ROW + b"\n\xff\n" + b"[" * 100_000 + b"\n", LogFaults(bad=(2, 4, 5))),
    (ROW + b'\n{"a": ', LogFaults(is_torn=True)),
    (b"x\n" + ROW, LogFaults(bad=(1,), is_open=True)),
    (ROW + b"\n  ", LogFaults()),
    (TOO_LONG + b"\nx\n" + ROW + b"\n", LogFaults(bad=(2,), too_long=(1,))),
    (ROW + b"\n" + TOO_LONG, LogFaults(too_long=(2,))),
    (b'"' + b"x" * (LINE_LIMIT - 2) + b'"\n' + ROW + b"\n", LogFaults()),
]


@pytest.fixture
def log(schedule: Path) -> Path:
    return schedule / "decisions.jsonl"


def mend(log: Path, root: Path) -> None:
    mend_log(log, root=root, kind="decisions", mode=0o600)


@pytest.mark.parametrize(("raw", "faults"), FOUND)
def test_each_kind_of_line_is_told(root: Path, log: Path, raw: bytes, faults: LogFaults) -> None:
    log.write_bytes(raw)
    assert log_faults(log, root=root) == faults
    assert log.read_bytes() == raw


def test_a_missing_log_is_in_order_and_is_not_made(root: Path, log: Path) -> None:
    assert log_faults(log, root=root) == LogFaults()
    mend(log, root)
    assert list(log.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("raw", "mended", "aside"),
    [
        (ROW + b"\ngarbage\n" + ROW + b"\n", ROW + b"\n       \n" + ROW + b"\n", b"garbage\n"),
        (ROW + b'\n{"a": ', ROW + b"\n      \n", b'{"a": \n'),
        (b"x\n" + ROW, b" \n" + ROW + b"\n", b"x\n"),
        (ROW, ROW + b"\n", None),
        (TOO_LONG + b"\nx\n", TOO_LONG + b"\n \n", b"x\n"),
        (b"x\n" + TOO_LONG, b" \n" + TOO_LONG, b"x\n"),
    ],
)
def test_bad_lines_are_blanked_and_kept_aside(
    root: Path, log: Path, raw: bytes, mended: bytes, aside: bytes | None
) -> None:
    log.write_bytes(raw)
    inode = log.stat().st_ino
    for _ in range(2):
        mend(log, root)
        assert (log.read_bytes(), log.stat().st_ino) == (mended, inode)
        kept = log.with_name("decisions.jsonl.bad")
        assert (kept.read_bytes() if kept.exists() else None) == aside
    assert not log_faults(log, root=root).bad


def test_what_is_kept_aside_is_added_to_what_was(root: Path, log: Path) -> None:
    for text in ("one", "two"):
        with log.open("a") as opened:
            opened.write(f"{text}\n")
        mend(log, root)
    assert log.with_name("decisions.jsonl.bad").read_text() == "one\ntwo\n"
    assert log.read_text() == "   \n   \n"


def test_a_log_that_another_writer_holds_is_left_alone(root: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_bytes(b"x\n")
    monkeypatch.setattr("metagit_mcp.adapters.locks._FIRST_PAUSE", 0)
    monkeypatch.setattr("time.monotonic", iter(range(0, 1_000, 10)).__next__)
    with log.open("a") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(StoreUnavailable, match="is locked by another process"):
            mend(log, root)
    assert log.read_bytes() == b"x\n"


def test_a_log_that_is_no_file_is_refused(root: Path, log: Path) -> None:
    log.mkdir()
    for use in (lambda: log_faults(log, root=root), lambda: mend(log, root)):
        with pytest.raises(FileRefused, match="is not a regular file but a folder"):
            use()
