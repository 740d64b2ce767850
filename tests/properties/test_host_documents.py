"""Whatever document our entry is put into: nothing else changes, twice is once, and taken out leaves what was there."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from metagit_mcp.wire.host_files.json_entries import JsonEntries
from metagit_mcp.wire.host_files.jsonc import parse
from metagit_mcp.wire.host_files.marked_blocks import MarkedBlocks
from metagit_mcp.wire.host_files.texts import Misfit
from metagit_mcp.wire.host_files.toml_entries import TomlEntries
from tests.properties.host_texts import json_texts, markdown_texts, toml_texts

STRICT = JsonEntries("mcpServers", "metagit")
LENIENT = JsonEntries("mcpServers", "metagit", lenient=True)
TOML = TomlEntries("mcp_servers", "metagit")
BLOCKS = MarkedBlocks()
ENTRY: dict[str, Any] = {"command": "metagit-mcp", "args": ["serve"], "env": {"W": "ä b"}}
OTHER: dict[str, Any] = {"command": "/x/metagit-mcp", "args": ["serve", "--toolsets", "work"]}
TEXT = "one\n\ntwo\n"


def is_subsequence(part: str, whole: str) -> bool:
    marks = iter(whole)
    return all(mark in marks for mark in part)


def pairs(text: str) -> Any:  # noqa: ANN401 - whatever is in it
    """What the standard library reads, members as pairs, so that keys that stand twice are seen."""
    return json.loads(text, object_pairs_hook=lambda each: ("object", tuple(each)))


def assert_undone(kind: Any, text: str, first: object, second: object) -> str:  # noqa: ANN401 - one of three kinds
    """Put, put again, replace, put back, take out."""
    assert kind.read(text).entry is None
    put = kind.put(text, first)
    assert (kind.read(put).entry, kind.read(put).touched) == (first, False)
    assert is_subsequence(text, put)
    assert kind.put(put, first) == put
    replaced = kind.put(put, second)
    assert (kind.read(replaced).entry, kind.read(replaced).touched) == (second, False)
    assert kind.put(replaced, first) == put
    assert kind.taken_out(replaced) == text
    assert kind.taken_out(put) == text
    return str(put)


@given(json_texts())
@example("{}")
@example("{\n}\n")
@example('{"mcpServers": {}}')
@example('{\n  "mcpServers": {\n  }\n}\n')
@example('{ "mcpServers": { } }')
@example("")
@example(" \r\n")
def test_json_keeps_every_byte(text: str) -> None:
    put = assert_undone(STRICT, text, ENTRY, OTHER)
    assert json.loads(put)["mcpServers"]["metagit"] == ENTRY


@given(json_texts())
def test_json_keeps_every_other_value(text: str) -> None:
    def without(members: Any) -> Any:  # noqa: ANN401 - as above
        return tuple(each for each in members[1] if each[0] != "mcpServers")

    before, after = pairs(text), pairs(STRICT.put(text, ENTRY))
    assert without(after) == without(before)


@given(json_texts(lenient=True))
@example("// only a comment")
@example('{"a": 1 // c\n}')
@example('{"a": [1,],}')
@example('{"mcpServers": {// c\n}}')
@example('{"mcpServers": {/* c */}}')
def test_json_with_comments_keeps_every_byte(text: str) -> None:
    assert_undone(LENIENT, text, ENTRY, OTHER)


def meaning(text: str) -> Any:  # noqa: ANN401 - whatever is in it
    """What a document says besides our entry; an empty container says nothing."""
    root = parse(text, lenient=True).root
    assert root is not None
    value = dict(root.value)
    servers = {name: each for name, each in value.pop("mcpServers", {}).items() if name != "metagit"}
    return value, servers


@given(json_texts(lenient=True, ours=True))
def test_whatever_a_person_made_of_it_only_our_entry_changes(text: str) -> None:
    put = LENIENT.put(text, ENTRY)
    assert (LENIENT.read(put).entry, meaning(put)) == (ENTRY, meaning(text))
    left = LENIENT.taken_out(text)
    assert left is not None
    assert (LENIENT.read(left).entry, meaning(left)) == (None, meaning(text))
    assert is_subsequence(left, text)


@given(toml_texts())
@example("")
@example("\n")
@example("a = 1")
@example("a = 1\r\n")
def test_toml_keeps_every_byte(text: str) -> None:
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)  # noqa: FBT003 - Hypothesis has it so
        raise
    put = assert_undone(TOML, text, ENTRY, OTHER)
    after = tomllib.loads(put)
    assert after["mcp_servers"].pop("metagit") == ENTRY
    assert {"mcp_servers": {}, **after} == {"mcp_servers": {}, **before}


@given(markdown_texts())
@example("a\r")
def test_a_marked_text_keeps_every_byte(text: str) -> None:
    assert_undone(BLOCKS, text, TEXT, "three\n")


@pytest.mark.parametrize(
    ("kind", "first", "second"), [(STRICT, ENTRY, OTHER), (TOML, ENTRY, OTHER), (BLOCKS, "a\n", TEXT)]
)
def test_what_only_we_made_goes_away(kind: Any, first: object, second: object) -> None:  # noqa: ANN401 - as above
    made = kind.fresh(first)
    assert (kind.read(made).entry, kind.read(made).touched) == (first, False)
    assert kind.put(made, first) == made
    assert kind.put(made, second) == kind.fresh(second)
    assert kind.taken_out(made) is None


@given(st.one_of(json_texts(), json_texts(lenient=True), st.text(alphabet='{}[]",:0-1.eE\\u tru\n/', max_size=12)))
def test_json_is_what_the_standard_library_takes_for_it(text: str) -> None:
    def refused(_: str) -> None:
        raise ValueError

    try:
        expected: tuple[object, ...] = (json.loads(text, parse_constant=refused),)
    except ValueError:
        expected = ()
    try:
        root = parse(text, lenient=False).root
        found: tuple[object, ...] = () if root is None else (root.value,)
    except Misfit:
        found = ()
    assert found == expected
