"""A document that is written back loses nothing, and is spelled as metagit spells it."""

import contextlib
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metagit_mcp.adapters.json_documents import parse_document, render_document
from metagit_mcp.errors import InvalidInput


def test_a_document_comes_back_as_metagit_writes_it() -> None:
    document = {
        "title": "Größe \u2028 名前",
        "number": 12345678901234567890123,
        "half": 0.1,
        "none": None,
        "list": [{}],
    }
    raw = (json.dumps(document, indent=2) + "\n").encode()
    assert list(parse_document(raw)) == list(document)
    assert render_document(parse_document(raw)) == raw
    assert raw.isascii()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "Expecting value at line 1 column 1"),
        (b'{"a": 1', "Expecting ',' delimiter at line 1 column 8"),
        (b"[]", "it must hold one JSON object"),
        (b'{"secret": NaN}', "NaN is no JSON number"),
        (b'{"secret": [-1e999]}', "a number is out of range"),
        (b'{"secret": ' + b"1" * 5000 + b"}", "a number has too many digits"),
        (b'{"secret": \xff}', "not UTF-8 at byte 11"),
        (b'{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_document_is_refused_without_its_content(raw: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        parse_document(raw)


def test_a_byte_order_mark_is_passed_over() -> None:
    assert parse_document(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON))
@example({"a": 1e-5, "b": [1e16, {}, []]})
@example({"a": " 1.5", "b": "\x7f\ud800", "c": 10**40})
@example({"a": [" 2.5,\n 1e9", "\x7f"]})
def test_any_document_is_spelled_as_python_spells_it(document: dict[str, object]) -> None:
    assert render_document(document) == f"{json.dumps(document, indent=2)}\n".encode()


def test_a_document_that_is_nested_deeply_is_spelled_too() -> None:
    deep: list[object] = []
    for _ in range(300):
        deep = [deep]
    assert render_document({"a": deep}) == f"{json.dumps({'a': deep}, indent=2)}\n".encode()


def test_a_number_without_a_word_in_json_is_not_written() -> None:
    with pytest.raises(InvalidInput, match="JSON has no word for it"):
        render_document({"a": float("inf")})


NUMBERS = st.recursive(JSON | st.floats(), lambda inner: st.lists(inner, max_size=3))


@pytest.mark.parametrize("beyond", ["Infinity", "1e999"])
@given(document=st.dictionaries(st.text(), NUMBERS, max_size=4))
@example(document={"a": [float("inf")]})
@example(document={"a": "Infinity, NaN", "b": float("-inf")})
@example(document={"a": float("nan")})
def test_what_is_read_can_be_written_and_else_is_refused(beyond: str, document: dict[str, object]) -> None:
    text = json.dumps(document).replace("Infinity", beyond)
    expected = _strictly_spelled(text)
    if expected is None:
        with pytest.raises(ValueError, match=r"is no JSON number|out of range"):
            parse_document(text.encode())
    else:
        assert render_document(parse_document(text.encode())) == expected


def _strictly_spelled(text: str) -> bytes | None:
    """Return a JSON text as Python indents it, or None where it holds a number that is none."""
    with contextlib.suppress(ValueError):
        return f"{json.dumps(json.loads(text), indent=2, allow_nan=False)}\n".encode()
    return None
