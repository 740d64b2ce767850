"""JSON is read with all its places; what is none is refused with line and column, and nothing of it is repeated."""

from __future__ import annotations

import json

import pytest

from metagit_mcp.wire.host_files.jsonc import Document, Node, parse
from metagit_mcp.wire.host_files.texts import Misfit


def read(text: str, *, lenient: bool = False) -> Node:
    root = parse(text, lenient=lenient).root
    assert root is not None
    return root


@pytest.mark.parametrize(
    "text",
    ['{"a": [1, -2.5e3, true, null, "\\u00e4\\n"], "b": {}}', "[]", " 1 ", '"a"', '{"a": 1, "a": 2}', "0.0", "[[[]]]"],
)
def test_it_reads_what_the_standard_library_reads(text: str) -> None:
    assert read(text).value == json.loads(text)


def test_a_number_of_any_length_is_a_number() -> None:
    assert read("[" + "9" * 5000 + "]").value == [float("inf")]


def test_members_say_where_they_stand() -> None:
    text = '{ "a" : 1 , "b":{} }'
    node = read(text)
    assert node.members is not None
    assert [(each.key, each.start, each.before, each.comma) for each in node.members] == [
        ("a", 2, 1, 10),
        ("b", 12, 11, -1),
    ]
    assert [text[each.node.start : each.node.end] for each in node.members] == ["1", "{}"]
    assert (node.start, node.end, node.tail, node.comma) == (0, 20, 18, False)


def test_comments_and_commas_are_read_where_they_are_allowed() -> None:
    text = '// a\n{ "a": [1, /* b */], // c\n}\n/**/'
    document = parse(text, lenient=True)
    assert document.root is not None
    assert document.root.value == {"a": [1]}
    assert [text[slice(*each)] for each in document.comments] == ["// a", "/* b */", "// c", "/**/"]
    assert (document.root.comma, text[: document.root.tail]) == (True, '// a\n{ "a": [1, /* b */], // c')
    assert [document.has_comment(0, 4), document.has_comment(4, 9)] == [True, False]


@pytest.mark.parametrize("text", ["", " \n"])
def test_there_may_be_nothing(text: str) -> None:
    assert parse(text, lenient=False) == Document(text, None, ())


REFUSED = {
    "{": ("lacks a key in quotes", 1, 2),
    "[": ("lacks a value", 1, 2),
    '{"a"}': ("lacks a colon after a key", 1, 5),
    '{"a":}': ("lacks a value", 1, 6),
    '{"a": 1 "b": 2}': ("lacks a comma or a closing brace", 1, 9),
    "[1 2]": ("lacks a comma or a closing bracket", 1, 4),
    '{"a": 1,}': ("has a comma before the end of a list or object", 1, 9),
    "[1,]": ("has a comma before the end of a list or object", 1, 4),
    "[,]": ("lacks a value", 1, 2),
    "{a: 1}": ("lacks a key in quotes", 1, 2),
    "{} {}": ("has something after its end", 1, 4),
    '["a\nb"]': ("has a string that is none", 1, 2),
    '["\\x"]': ("has a string that is none", 1, 2),
    "[NaN]": ("lacks a value", 1, 2),
    "01": ("has something after its end", 1, 2),
    "{\n // c\n}": ("lacks a key in quotes", 2, 2),
    "[" * 200: ("is nested deeper than 100 levels", 1, 102),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_json_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(Misfit) as caught:
        parse(text, lenient=False)
    assert (caught.value.what, caught.value.line, caught.value.column) == REFUSED[text]


def test_a_comment_has_to_end() -> None:
    with pytest.raises(Misfit, match="has a comment without an end"):
        parse("{} /* c", lenient=True)
    with pytest.raises(Misfit, match="has something after its end"):
        parse("{} / c", lenient=True)
