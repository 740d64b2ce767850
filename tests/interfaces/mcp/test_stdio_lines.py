"""A byte stream is cut into the same lines however it arrives, and no line costs more than its limit."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.interfaces.mcp.stdio_lines import Line, LineSplitter, OverlongLine

LIMIT = 3000


def split(chunks: list[bytes], limit: int = LIMIT) -> list[Line]:
    splitter = LineSplitter(limit)
    return [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.finish()


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(stream), *(place % (len(stream) + 1) for place in places)})
    return [stream[start:end] for start, end in pairwise(edges)]


@given(st.lists(st.binary(max_size=40)), st.lists(st.integers(min_value=0)))
def test_chunks_do_not_matter(pieces: list[bytes], places: list[int]) -> None:
    stream = b"\n".join(pieces)
    lines = stream.split(b"\n")
    assert split(cut(stream, places)) == (lines if lines[-1] else lines[:-1])


def test_the_limit_is_the_longest_line_that_is_kept() -> None:
    assert split([b"a" * LIMIT + b"\n"]) == [b"a" * LIMIT]


def test_a_longer_line_keeps_both_ends_and_harms_no_other() -> None:
    stream = b"before\n" + b"head" + b"x" * 10_000 + b"tail\nafter"
    expected = [
        b"before",
        OverlongLine(head=b"head" + b"x" * 1020, tail=b"x" * 1020 + b"tail"),
        b"after",
    ]
    assert split([stream[i : i + 7] for i in range(0, len(stream), 7)]) == expected
    assert split([b"before\nhead", stream[11:]]) == expected


def test_an_endless_line_takes_no_memory() -> None:
    splitter = LineSplitter(LIMIT)
    for _ in range(1000):
        assert splitter.feed(b"x" * 1000) == []
    assert splitter.finish() == [OverlongLine(head=b"x" * 1024, tail=b"x" * 1024)]
