"""The lines of an Event log come whole and once, from files that grow, and from pipes as soon as they are there."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.cli.event_lines import EventLine, EventLines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONGEST = 20


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    path.write_bytes(b"one\n\ntwo\nthr")
    return path


@pytest.fixture
def followed(log: Path) -> Iterator[EventLines]:
    with closing(EventLines(str(log), LONGEST, follows=True)) as lines:
        assert [line.raw for line in left(lines)] == [b"one", b"two"]
        yield lines


def left(lines: EventLines) -> list[EventLine]:
    """All lines there are for now."""
    found: list[EventLine] = []
    while (line := lines.next(wait=False)) is not None:
        found.append(line)
    return found


def add(log: Path, text: bytes) -> None:
    with log.open("ab") as file:
        file.write(text)


def refusal(lines: EventLines) -> str:
    with pytest.raises(InvalidInput) as refused:
        lines.next(wait=False)
    assert refused.value.details == {"field": "file"}
    return refused.value.message


def test_a_file_gives_its_lines_with_their_numbers_and_the_rest_as_one_that_is_not_whole(log: Path) -> None:
    with closing(EventLines(str(log), LONGEST, follows=False)) as lines:
        assert (lines.size, lines.name) == (12, str(log))
        assert left(lines) == [
            EventLine(number=1, raw=b"one", ends_at=4),
            EventLine(number=3, raw=b"two", ends_at=9),
            EventLine(number=4, raw=b"thr", ends_at=12, is_whole=False),
        ]
        assert lines.next(wait=True) is None


def test_lines_are_whole_wherever_reading_stops(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagit_mcp.interfaces.cli.event_lines._AT_ONCE", 2)
    with closing(EventLines(str(log), LONGEST, follows=False)) as lines:
        assert [(line.number, line.raw, line.ends_at) for line in left(lines)] == [
            (1, b"one", 4),
            (3, b"two", 9),
            (4, b"thr", 12),
        ]


def test_a_line_without_an_end_is_not_read_for_ever(log: Path) -> None:
    log.write_bytes(b"one\n" + b"x" * 21)
    with closing(EventLines(str(log), LONGEST, follows=False)) as lines:
        assert refusal(lines) == f"{log}: line 2 has no end within 20 bytes"


# --- following -------------------------------------------------------------------------------------------------------


def test_a_growing_file_is_read_on_from_the_end_of_its_last_whole_line(log: Path, followed: EventLines) -> None:
    assert followed.size is None
    add(log, b"ee")
    assert left(followed) == []
    add(log, b"\nfour\n")
    assert [(line.number, line.raw) for line in left(followed)] == [(4, b"three"), (5, b"four")]
    assert left(followed) == []


def test_a_file_that_was_cut_short_is_told(log: Path, followed: EventLines) -> None:
    log.write_bytes(b"one\n")
    assert refusal(followed) == f"{log}: was cut short while it was followed"


def test_a_file_that_was_taken_away_is_told(log: Path, followed: EventLines) -> None:
    log.unlink()
    assert refusal(followed) == f"{log}: was taken away while it was followed"


def test_a_file_that_was_replaced_is_told_once_its_own_lines_are_read(
    log: Path, followed: EventLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(log, b"ee\n")
    log.rename(log.with_name("old"))
    log.write_bytes(b"another\n")
    assert [line.raw for line in left_until_refused(followed)] == [b"three"]
    assert refusal(followed) == f"{log}: was replaced while it was followed"
    # What is written between the look for more and the look at the name is read too.
    chunks = iter([b"", b"last\n", b"", b""])
    monkeypatch.setattr(EventLines, "_chunk", lambda _: next(chunks))
    assert [line.raw for line in left_until_refused(followed)] == [b"last"]


def left_until_refused(lines: EventLines) -> list[EventLine]:
    found: list[EventLine] = []
    try:
        while (line := lines.next(wait=False)) is not None:
            found.append(line)
    except InvalidInput:
        pass
    return found


def test_only_a_file_with_a_name_can_be_followed(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with log.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        for path, name in (("/dev/null", "/dev/null"), ("-", "standard input")):
            with pytest.raises(InvalidInput) as refused:
                EventLines(path, LONGEST, follows=True)
            assert refused.value.message == f"{name}: only a file can be followed"


def test_standard_input_may_be_a_file(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with log.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        with closing(EventLines("-", LONGEST, follows=False)) as lines:
            assert lines.size is None
            assert [line.raw for line in left(lines)] == [b"one", b"two", b"thr"]


# --- pipes -----------------------------------------------------------------------------------------------------------


def test_a_pipe_gives_what_is_there_and_is_waited_for_only_when_it_should_be(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = os.open(path, os.O_RDWR)
    try:
        os.write(writer, b"one\ntwo\nthr")
        with closing(EventLines(str(path), LONGEST, follows=False)) as lines:
            assert lines.size is None
            assert [line.raw for line in left(lines)] == [b"one", b"two"]
            os.write(writer, b"ee\n")
            line = lines.next(wait=True)
            assert line is not None
            assert (line.raw, line.number, line.ends_at) == (b"three", 3, 14)
    finally:
        os.close(writer)


def test_standard_input_may_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InvalidInput) as refused:
        EventLines("-", LONGEST, follows=False)
    assert refused.value.message == "standard input is closed"


def test_a_file_that_cannot_be_read_on_is_told(log: Path, followed: EventLines) -> None:
    followed.close()
    assert refusal(followed) == f"{log}: cannot be read: Bad file descriptor"
