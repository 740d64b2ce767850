"""An entry is put into a JSON document in the way that the document is written, and taken out with what was made."""

from __future__ import annotations

import pytest

from metagit_mcp.wire.host_files.json_entries import JsonEntries
from metagit_mcp.wire.host_files.texts import EntryReading, Misfit

STRICT = JsonEntries("mcpServers", "metagit")
LENIENT = JsonEntries("servers", "metagit", lenient=True)
ENTRY = {"command": "m", "args": ["serve"]}
LINE = '{"command": "m", "args": ["serve"]}'

FRESH = """\
{
  "mcpServers": {
    "metagit": {
      "command": "m",
      "args": ["serve"]
    }
  }
}
"""
# What was there, and what is there with the entry.
PUT = {
    "": f'{{ "mcpServers": {{ "metagit": {LINE} }} }}',
    "{}": f'{{"mcpServers": {{ "metagit": {LINE} }}}}',
    "{\n}\n": f'{{\n  "mcpServers": {{ "metagit": {LINE} }}\n}}\n',
    '{"mcpServers": {}}': f'{{"mcpServers": {{"metagit": {LINE}}}}}',
    '{\n\t"mcpServers": {\n\t}\n}': f'{{\n\t"mcpServers": {{\n\t\t"metagit": {LINE}\n\t}}\n}}',
    '{"a": 1}': f'{{"a": 1, "mcpServers": {{ "metagit": {LINE} }}}}',
    '{\r\n    "a": 1\r\n}': (
        '{\r\n    "a": 1,\r\n    "mcpServers": {\r\n        "metagit": {\r\n            "command": "m",\r\n'
        '            "args": ["serve"]\r\n        }\r\n    }\r\n}'
    ),
    '{\n "mcpServers": {\n  "b": {}\n }\n}': (
        '{\n "mcpServers": {\n  "b": {},\n  "metagit": {\n   "command": "m",\n   "args": ["serve"]\n  }\n }\n}'
    ),
    '{"mcpServers": {"b": {}}}': f'{{"mcpServers": {{"b": {{}}, "metagit": {LINE}}}}}',
}


@pytest.mark.parametrize("text", PUT)
def test_it_is_written_as_the_document_is(text: str) -> None:
    assert STRICT.put(text, ENTRY) == PUT[text]
    assert STRICT.taken_out(PUT[text]) == text


COMMENTED = {
    '{"servers": {"a": 1,}}': f'{{"servers": {{"a": 1, "metagit": {LINE},}}}}',
    '{"servers": {"a": 1 // c\n}}': f'{{"servers": {{"a": 1, // c\n"metagit": {LINE}\n}}}}',
    '{"servers": {/* c */}}': f'{{"servers": {{/* c */ "metagit": {LINE}}}}}',
    "// c": f'{{ "servers": {{ "metagit": {LINE} }} }}// c',
    '{"servers": {// c\n}}': f'{{"servers": {{// c\n"metagit": {LINE}\n}}}}',
}


@pytest.mark.parametrize("text", COMMENTED)
def test_comments_and_commas_stay_where_they_are(text: str) -> None:
    assert LENIENT.put(text, ENTRY) == COMMENTED[text]
    assert LENIENT.taken_out(COMMENTED[text]) == text


def test_a_file_that_only_we_made_goes_away() -> None:
    assert STRICT.fresh(ENTRY) == FRESH
    assert STRICT.taken_out(FRESH) is None
    # As git checks it out elsewhere.
    assert STRICT.taken_out(FRESH.replace("\n", "\r\n")) is None


# What a person made of it, and what is left when the entry is taken out.
TAKEN_OUT = {
    # The entry in front, others behind it.
    f'{{"mcpServers": {{"metagit": {LINE}, "b": 1}}}}': '{"mcpServers": { "b": 1}}',
    f'{{"mcpServers": {{\n  "metagit": {LINE},\n  "b": 1\n}}}}': '{"mcpServers": {\n  "b": 1\n}}',
    # In the middle, with a comma far away.
    f'{{"mcpServers": {{"a": 1, "metagit": {LINE} , "b": 1}}}}': '{"mcpServers": {"a": 1,  "b": 1}}',
    # Twice: both go, or the first would come into force.
    f'{{"mcpServers": {{"metagit": 1, "metagit": {LINE}}}}}': '{"mcpServers": {}}',
    # The container counts that comes last, and only that.
    f'{{"mcpServers": {{"metagit": 1}}, "mcpServers": {{"metagit": {LINE}}}}}': (
        '{"mcpServers": {"metagit": 1}, "mcpServers": {}}'
    ),
    '{"mcpServers": {"a": 1}, "mcpServers": {"metagit": {\n}}}': '{"mcpServers": {"a": 1}, "mcpServers": {}}',
    # Indented anew: what is left of the file is not thrown away.
    FRESH.replace("  ", "\t"): "{\n}\n",
    '{"mcpServers": {"metagit": 7}}': '{"mcpServers": {}}',
    '{"mcpServers": {}}': '{"mcpServers": {}}',
    "": "",
}


@pytest.mark.parametrize("text", TAKEN_OUT)
def test_what_a_person_made_of_it_stays(text: str) -> None:
    assert STRICT.taken_out(text) == TAKEN_OUT[text]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        # What follows on the line of the entry does not become a part of the comment before it.
        (f'{{"servers": {{ // c\n "metagit": {LINE}, "b": 1}}}}', '{"servers": { // c\n  "b": 1}}'),
        (f'{{"servers": {{ // c\n "metagit": {LINE} }}}}', '{"servers": { // c\n  }}'),
        (f'{{"servers": {{"metagit": {LINE}, /* c */}}}}', '{"servers": { /* c */}}'),
        # Nor does a comment over several lines that stands between the entry and its comma.
        (f'{{"servers": {{ // c\n"metagit": {LINE}/* d\n */,\n}}}}', '{"servers": { // c\n/* d\n */\n}}'),
        (f'{{"servers": {{"b": 1, // c\n"metagit": {LINE}/* d\n */}}}}', '{"servers": {"b": 1 // c\n/* d\n */}}'),
    ],
)
def test_a_comment_swallows_nothing(text: str, left: str) -> None:
    assert LENIENT.taken_out(text) == left
    assert LENIENT.read(left) == EntryReading(None)


def test_an_entry_is_replaced_on_its_lines() -> None:
    other = {"command": "n", "args": []}
    assert STRICT.put(FRESH, other) == FRESH.replace('"m"', '"n"').replace('["serve"]', "[]")
    one_line = f'{{"mcpServers": {{"metagit": {LINE}}}}}'
    assert STRICT.put(one_line, other) == '{"mcpServers": {"metagit": {"command": "n", "args": []}}}'
    odd = '{"mcpServers": {"metagit": {\n}}}'
    assert STRICT.put(odd, other) == '{"mcpServers": {"metagit": {\n  "command": "n",\n  "args": []\n}}}'


def test_of_two_entries_one_is_left() -> None:
    text = f'{{"mcpServers": {{"metagit": 1, "b": 2, "metagit": {LINE}}}}}'
    assert STRICT.read(text) == EntryReading(ENTRY, touched=True)
    assert STRICT.put(text, ENTRY) == f'{{"mcpServers": {{ "b": 2, "metagit": {LINE}}}}}'


def test_a_comment_within_is_a_persons() -> None:
    text = '{"servers": {"metagit": {"command": "m", /* mine */ "args": ["serve"]}}}'
    assert LENIENT.read(text) == EntryReading(ENTRY, touched=True)
    assert LENIENT.read(text.replace("/* mine */", "")) == EntryReading(ENTRY)
    assert LENIENT.read(f"/* c */{text}".replace("/* mine */", "")) == EntryReading(ENTRY)


@pytest.mark.parametrize(
    ("text", "what", "column"),
    [
        ("[]", "must hold one JSON object", 1),
        ("1", "must hold one JSON object", 1),
        ('{"mcpServers": null}', "has a mcpServers that is no object", 16),
        ('{"mcpServers": []}', "has a mcpServers that is no object", 16),
    ],
)
def test_what_is_no_object_is_refused(text: str, what: str, column: int) -> None:
    for attempt in (STRICT.read, STRICT.taken_out, lambda each: STRICT.put(each, ENTRY)):
        with pytest.raises(Misfit, match=what) as caught:
            attempt(text)
        assert (caught.value.line, caught.value.column) == (1, column)
