"""Any text of JSON, however it is written, is read without pydantic as pydantic reads it, or is left to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.wire.test_exact import Known, agrees

if TYPE_CHECKING:
    from collections.abc import Iterable

numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
instants = st.from_regex(
    r'"(20|00)[0-9]{2}-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,7})?)?(Z|z|[+-]00:?00)?"',
    fullmatch=True,
)
words = st.sampled_from(
    [
        "null",
        "true",
        "false",
        "NaN",
        "-0",
        "-0.0",
        "1e400",
        '"ab"',
        '"\\u0061b"',
        '"\\udc00"',
        '"\\ud83d\\ude00"',
        '"\\u0000"',
    ]
)
texts = st.text(max_size=4).map(json.dumps) | st.text(max_size=4).map(lambda text: json.dumps(text, ensure_ascii=False))
keys = st.sampled_from(["a", "class", "name", "n\\u0061me"])


def listed(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(items, max_size=2).map(lambda each: f"[{', '.join(each)}]")


def written(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(f'"{key}": {each}' for key, each in pairs) + "}"


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.tuples(keys, values), max_size=2).map(written)


documents = st.recursive(numbers | instants | words | texts, lambda inner: listed(inner) | objects(inner), max_leaves=5)
# What may be meant for each field, whether it fits or not.
meant = {
    "many": numbers,
    "share": numbers | words,
    "finite": numbers,
    "at": instants,
    "flag": words,
    "texts": listed(texts),
    "moments": listed(instants),
    "units": objects(numbers),
    "anything": documents,
    "foreign": documents,
}


records = st.lists(st.sampled_from(sorted(meant)), unique=True, max_size=3).flatmap(
    lambda names: st.fixed_dictionaries({name: meant[name] for name in names})
)


@given(records)
def test_any_text_is_read_alike_or_left(record: dict[str, str]) -> None:
    agrees(Known, written([("name", '"ab"'), *record.items()]).encode("utf-8", "surrogatepass"))
