"""Bytes become text with its mark kept, places have lines and columns, and a block at the end can be taken out."""

from __future__ import annotations

import pytest

from metagit_mcp.wire.host_files.texts import Misfit, appended, decoded, misfit, newline_of, without_block

LINES = ("[", "]")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(b"", ("", "")), (b"a\r\n", ("", "a\r\n")), (b"\xef\xbb\xbfa", ("\ufeff", "a")), ("ä".encode(), ("", "ä"))],
)
def test_the_mark_is_kept_apart(raw: bytes, expected: tuple[str, str]) -> None:
    assert decoded(raw) == expected


@pytest.mark.parametrize(
    ("raw", "place"), [(b"\xff", (1, 1)), ("ä\n".encode() + b"b\xe4", (2, 2)), ("\ufeff{".encode("utf-16"), (1, 1))]
)
def test_what_is_no_text_is_refused_with_its_place(raw: bytes, place: tuple[int, int]) -> None:
    with pytest.raises(Misfit, match="is not UTF-8") as caught:
        decoded(raw)
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize(("at", "place"), [(0, (1, 1)), (1, (1, 2)), (2, (2, 1)), (4, (3, 1))])
def test_a_place_has_a_line_and_a_column(at: int, place: tuple[int, int]) -> None:
    error = misfit("a\nb\n", at, "is wrong")
    assert (error.what, str(error), error.line, error.column) == ("is wrong", "is wrong", *place)


@pytest.mark.parametrize(
    ("text", "expected"), [("", "\n"), ("a", "\n"), ("a\nb\r\nc", "\r\n"), ("a\r\nb\n", "\n"), ("\n", "\n")]
)
def test_the_last_line_says_how_lines_end(text: str, expected: str) -> None:
    assert newline_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "\n[\n]\n"),
        ("\n", "\n\n[\n]\n"),
        ("a\n", "a\n\n[\n]\n"),
        ("a", "a\n\n[\n]"),
        ("a\r\n", "a\r\n\r\n[\r\n]\r\n"),
        ("a\r\nb", "a\r\nb\r\n\r\n[\r\n]"),
        ("a\r", "a\r\r\n\r\n[\r\n]"),
    ],
)
def test_a_block_is_put_at_the_end_and_taken_out_again(text: str, expected: str) -> None:
    assert appended(text, LINES) == expected
    start = expected.index("[")
    assert without_block(expected, start, len(expected)) == text


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a\n\n", "b\n", "a\nb\n"),
        ("a\n", "b\n", "a\nb\n"),
        ("", "b", "b"),
        ("\n", "\nb", "\nb"),
        ("a\n", "", "a\n"),
        ("a\n\n", "\n", "a\n\n"),
    ],
)
def test_in_the_middle_only_the_blank_line_before_it_goes_too(before: str, after: str, expected: str) -> None:
    assert without_block(f"{before}[\n]\n{after}", len(before), len(before) + 4) == expected
