"""What is too deep, and what is said of a fault, is the same in each Python; what is read can be written back."""

import json
import re
from collections.abc import Callable

import pytest

from metagit_mcp.adapters.json_documents import parse_document, render_document
from metagit_mcp.wire.codec import parse_leniently
from metagit_mcp.wire.json_alike import DEEPEST, loaded

# As many calls stand above a reader in a server, several times over.
_FRAMES = 300
NESTS: dict[str, Callable[[int], str]] = {
    "lists": lambda depth: "[" * depth + "]" * depth,
    "objects": lambda depth: '{"a":' * depth + "1" + "}" * depth,
    "both": lambda depth: '{"a":[' * (depth // 2) + "[]" * (depth % 2) + "]}" * (depth // 2),
    "after others": lambda depth: "[[],{}," * (depth - 1) + '["[[[["]' + "]" * (depth - 1),
}
READERS: dict[str, Callable[[str], object]] = {
    "loaded": loaded,
    "parse_leniently": lambda text: parse_leniently(text.encode()),
    "parse_document": lambda text: parse_document(text.encode()),
}


def below(frames: int, ask: Callable[[], object]) -> object:
    return ask() if frames == 0 else below(frames - 1, ask)


@pytest.mark.parametrize("frames", [0, _FRAMES])
@pytest.mark.parametrize("read", READERS.values(), ids=list(READERS))
@pytest.mark.parametrize("nest", NESTS.values(), ids=list(NESTS))
def test_the_depth_that_is_read_has_one_bound(
    nest: Callable[[int], str], read: Callable[[str], object], frames: int
) -> None:
    deepest = f'{{"a": {nest(DEEPEST - 1)}}}'
    assert below(frames, lambda: read(deepest)) == json.loads(deepest)
    # Beyond the limits of Python 3.11, 3.12 and 3.13 too.
    for depth in (DEEPEST, 980, 1_400, 9_900, 100_000):
        text = f'{{"a": {nest(depth)}}}'
        with pytest.raises(ValueError, match=r"^nested too deeply$"):
            below(frames, lambda text=text: read(text))  # type: ignore[misc]  # it is called at once


@pytest.mark.parametrize("nest", NESTS.values(), ids=list(NESTS))
def test_what_is_read_is_written_back(nest: Callable[[int], str]) -> None:
    document = parse_document(f'{{"a": {nest(DEEPEST - 1)}}}'.encode())
    raw = below(_FRAMES, lambda: render_document(document))
    assert isinstance(raw, bytes)
    assert parse_document(raw) == document


@pytest.mark.parametrize("text", ["1", '"["', "null", "[]", "{}", '{"a": [1, {"b": "]"}]}'])
def test_any_value_is_read(text: str) -> None:
    assert loaded(text) == json.loads(text)
    assert loaded(text, parse_int=float) == json.loads(text, parse_int=float)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1,}', "Illegal trailing comma before end of object: line 1 column 8 (char 7)"),
        ('{"a": [1, 2 , \n\t]}', "Illegal trailing comma before end of array: line 1 column 13 (char 12)"),
        ('{"a": {"b": ",",\r\n}}', "Illegal trailing comma before end of object: line 1 column 16 (char 15)"),
        ('{"a": 1,]', "Expecting property name enclosed in double quotes: line 1 column 9 (char 8)"),
        ("[1,}", "Expecting value: line 1 column 4 (char 3)"),
        ("[,]", "Expecting value: line 1 column 2 (char 1)"),
        ("[1,", "Expecting value: line 1 column 4 (char 3)"),
        ("{,}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ('{"a":]', "Expecting value: line 1 column 6 (char 5)"),
        ("{1", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ('{"a" 1}', "Expecting ':' delimiter: line 1 column 6 (char 5)"),
        ("[] []", "Extra data: line 1 column 4 (char 3)"),
        ('"\x01"', "Invalid control character at: line 1 column 2 (char 1)"),
        ('"\\u00', "Invalid \\uXXXX escape: line 1 column 3 (char 2)"),
    ],
)
def test_a_fault_is_told_in_the_same_words(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        loaded(text)
