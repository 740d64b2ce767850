"""The short way to the one text of an Event's content gives what the long way gives, or leaves the text to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.errors import SchemaMismatch
from metagit_mcp.wire import group_texts
from metagit_mcp.wire.group_texts import canonical
from tests.groups.real_events import LINES

if TYPE_CHECKING:
    from collections.abc import Iterable

numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
words = st.sampled_from(
    [
        *("null", "true", "false", "NaN", "-Infinity", "-0", "-0.0", "1e400", "01", "1" * 30, "1" * 5000, "nul"),
        *('"ab"', '"a:b"', '"\\u0061b"', '"\\udc00"', '"\\ud83d\\ude00"', '"\\u0000"', '"\\/"', '"\\u003a"', '"\x01"'),
    ]
)
texts = st.text(max_size=4).map(json.dumps) | st.text(max_size=4).map(lambda text: json.dumps(text, ensure_ascii=False))
keys = st.sampled_from(['"a"', '"b"', '"\\u0061"', '":"', '"\\u003a"', '"\u00e9"', '"\U0001f600"', '"\uffee"'])
commas, colons = st.sampled_from([", ", ",", " ,\n\t", ",,"]), st.sampled_from([": ", ":", " :", "\r\n:"])


def listed(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(st.lists(items, max_size=3), commas).map(lambda each: f"[{each[1].join(each[0])}]")


def written(parts: tuple[Iterable[tuple[str, str]], str, str]) -> str:
    pairs, comma, colon = parts
    return "{" + comma.join(f"{key}{colon}{each}" for key, each in pairs) + "}"


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(st.lists(st.tuples(keys, values), max_size=4), commas, colons).map(written)


documents = st.recursive(numbers | words | texts, lambda inner: listed(inner) | objects(inner), max_leaves=6)


def outcome(raw: bytes) -> object:
    """What comes of a text: the object as it prints, which tells 1 from 1.0 and True, and its text; or the refusal."""
    try:
        record, body = canonical(raw)
    except SchemaMismatch as refused:
        return refused.message, refused.details
    return repr({name: record[name] for name in sorted(record)}), body


def agrees(raw: bytes) -> None:
    short = outcome(raw)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(group_texts, "_plain", lambda _: None)
        assert short == outcome(raw)


@given(objects(documents) | documents)
def test_any_text_leads_to_the_same_on_either_way(text: str) -> None:
    agrees(text.encode("utf-8", "surrogatepass"))


@given(st.binary(max_size=8), st.sampled_from(LINES), st.integers(0, 3_000))
def test_a_damaged_event_is_refused_alike(bad: bytes, line: bytes, at: int) -> None:
    agrees(line[:at] + bad + line[at + len(bad) :])


@pytest.mark.parametrize("depth", [*range(5, 12), *range(195, 205), 900, 5_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_deep_text_is_read_alike(depth: int, opening: str, closing: str) -> None:
    agrees(f'{{"a":{opening * depth}1{closing * depth}}}'.encode())


@pytest.mark.parametrize("line", LINES)
def test_a_real_event_takes_the_short_way(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = canonical(line)
    monkeypatch.setattr(group_texts, "_with_all_its_keys", None)
    for text in (line, json.dumps(json.loads(line), indent=2).encode(), line.replace(b"payload", b"payl\\noad")):
        canonical(text)
    assert canonical(whole[1]) == whole


@pytest.mark.parametrize(
    "text", [b'{"a": 1.0}', b'{"a": 1e2}', b'{"a": 1, "a": 1}', b'{"b": {"\\u0061": 1, "a": ":"}}', b"[]", b'"a"']
)
def test_what_is_in_doubt_takes_the_long_way(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def long_way(raw: bytes) -> tuple[dict[str, Any], bytes]:
        asked.append(raw)
        return {}, raw

    asked: list[bytes] = []
    monkeypatch.setattr(group_texts, "_with_all_its_keys", long_way)
    canonical(text)
    assert asked == [text]
