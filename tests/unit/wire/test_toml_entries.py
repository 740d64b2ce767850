"""A table is put at the end of a TOML document, found wherever a person writes it, and taken out with nothing else."""

from __future__ import annotations

import tomllib

import pytest

from metagit_mcp.wire.host_files.texts import EntryReading, Misfit
from metagit_mcp.wire.host_files.toml_entries import TomlEntries

CODEX = TomlEntries("mcp_servers", "metagit")
ENTRY = {"command": "m", "args": ["serve"]}
TABLE = '[mcp_servers.metagit]\ncommand = "m"\nargs = ["serve"]\n'


def test_a_table_is_written_at_the_end() -> None:
    assert CODEX.fresh(ENTRY) == TABLE
    assert CODEX.put("a = 1\n", ENTRY) == f"a = 1\n\n{TABLE}"
    assert CODEX.put("a = 1", ENTRY) == f"a = 1\n\n{TABLE}".rstrip("\n")
    assert CODEX.put("a = 1\r\n", ENTRY) == f"a = 1\n\n{TABLE}".replace("\n", "\r\n")
    assert CODEX.taken_out(TABLE) is None
    assert CODEX.taken_out(TABLE.replace("\n", "\r\n")) is None
    assert CODEX.taken_out("a = 1") == "a = 1"


def test_every_value_is_toml() -> None:
    entry = {"command": 'a"\\\x7f\u2028\t', "env": {"A b": "ä", "c": "'"}, "l": ["#", "[x]"]}
    named = TomlEntries("mcp_servers", "a b")
    assert named.fresh(entry).splitlines()[0] == '[mcp_servers."a b"]'
    assert tomllib.loads(named.fresh(entry)) == {"mcp_servers": {"a b": entry}}


# How a person may write the same entry, and what is left without it.
WRITTEN = {
    f'model = "o"\n\n{TABLE}\n# about t\n[t]\nx = 1\n': 'model = "o"\n\n# about t\n[t]\nx = 1\n',
    f"model = 1\n{TABLE}[t]\n": "model = 1\n[t]\n",
    '[ mcp_servers . "metagit" ]\n  command = \'m\'\n\n  args = [\n    "serve"\n  ]\n': "",
    '[mcp_servers]\nmetagit = { command = "m" }\nb.command = "x"\n': '[mcp_servers]\nb.command = "x"\n',
    'mcp_servers.metagit.command = "m"\nmcp_servers.metagit.args = ["serve"]\nx = 1\n': "x = 1\n",
    'mcp_servers = { metagit = { command = "m", args = ["serve"] } }\n': "",
    '[mcp_servers.metagit]\ncommand = "m"\n[t]\ny = 1\n[mcp_servers.metagit.env]\nA = "b"\n': "[t]\ny = 1\n",
    '[mcp_servers.metagit]\ncommand = """\n[t]\n"""\n[t]\ny = 1': "[t]\ny = 1",
}


@pytest.mark.parametrize("text", WRITTEN)
def test_it_is_found_wherever_it_stands(text: str) -> None:
    assert CODEX.read(text).touched is False
    assert CODEX.taken_out(text) == WRITTEN[text]
    assert CODEX.read(WRITTEN[text]) == EntryReading(None)


def test_it_is_replaced_where_it_stands() -> None:
    other = {"command": "n", "args": []}
    text = f"a = 1\n{TABLE}\n[t]\n[mcp_servers.metagit.env]\nA = 'b'\n[u]\n"
    new = TABLE.replace('"m"', '"n"').replace('["serve"]', "[]")
    assert CODEX.put(text, other) == f"a = 1\n{new}\n[t]\n[u]\n"
    assert CODEX.put(TABLE.rstrip("\n"), other) == new.rstrip("\n")
    assert CODEX.put(TABLE.replace("\n", "\r\n"), other) == new.replace("\n", "\r\n")


@pytest.mark.parametrize("comment", ["command = \"m\" # mine\nargs = ['serve']\n", "# mine\nargs = ['serve']\n"])
def test_a_comment_within_is_a_persons(comment: str) -> None:
    assert CODEX.read(f"[mcp_servers.metagit]\n{comment}").touched is True
    assert CODEX.read(f"# c\n{TABLE}# d\n").touched is False


REFUSED = {
    "a = \n": ("is not TOML", 1, 5),
    'a = 1\nb = "x\n': ("is not TOML", 2, 7),
    "a = [1,": ("is not TOML", 1, 8),
    "a = 1\na = 2": ("is not TOML", 2, 6),
    "a = " + "[" * 5000: ("is nested too deeply", 0, 0),
    "x = 1\nmcp_servers = 3\n": ("has a mcp_servers that is no table", 2, 1),
    "[[mcp_servers]]\n": ("has a mcp_servers that is no table", 1, 1),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_toml_is_refused_with_its_place(text: str) -> None:
    for attempt in (CODEX.read, CODEX.taken_out, lambda each: CODEX.put(each, ENTRY)):
        with pytest.raises(Misfit) as caught:
            attempt(text)
        assert (caught.value.what, caught.value.line, caught.value.column) == REFUSED[text]


INLINE = "holds our entry or its neighbours in an inline table; write it as [mcp_servers.NAME] first"


@pytest.mark.parametrize(
    "text",
    [
        'x = 1\nmcp_servers = { b = { command = "x" } }\n',
        'x = 1\nmcp_servers = { metagit = { command = "m" }, b = {} }\n',
        'x = 1\n[mcp_servers]\nmetagit = { command = "m" }\nb = {}\n',
    ],
)
def test_an_inline_table_in_the_way_is_left_alone(text: str) -> None:
    with pytest.raises(Misfit) as caught:
        CODEX.put(text, ENTRY)
    assert (caught.value.what, caught.value.line, caught.value.column) == (INLINE, 2, 1)


def test_an_inline_table_of_several_is_not_taken_apart() -> None:
    text = 'mcp_servers = { metagit = { command = "m" }, b = {} }'
    with pytest.raises(Misfit) as caught:
        CODEX.taken_out(text)
    assert (caught.value.what, caught.value.line) == (INLINE, 1)


def test_what_is_no_table_is_no_entry_of_ours_but_goes_too() -> None:
    text = "[mcp_servers]\nmetagit = 7\n"
    assert CODEX.read(text) == EntryReading(7)
    assert CODEX.taken_out(text) == "[mcp_servers]\n"
    assert CODEX.taken_out("[mcp_servers.metagit]\nat = 1979-05-27\non = true\n") == ""


# --- what the host keeps in our table ------------------------------------------------------------------------------

KEEPING = TomlEntries("mcp_servers", "metagit", kept="tools")
APPROVED = '[mcp_servers.metagit.tools.metagit_schedule_next]\napproval_mode = "approve" # asked once\n'


def test_what_its_user_decided_stays_when_the_entry_is_replaced() -> None:
    text = f"{TABLE}\n{APPROVED}"
    other = {"command": "n", "args": []}
    assert KEEPING.read(text) == EntryReading(ENTRY)
    assert KEEPING.put(text, ENTRY) == text
    assert KEEPING.put(text, other) == f"{KEEPING.fresh(other)}\n{APPROVED}"
    assert KEEPING.put(f"{APPROVED}\n[t]\n", ENTRY) == f"{APPROVED}\n[t]\n\n{TABLE}"


def test_it_goes_with_the_entry() -> None:
    assert KEEPING.taken_out(f"a = 1\n\n{TABLE}\n{APPROVED}\n[t]\n") == "a = 1\n\n[t]\n"
    assert KEEPING.read(APPROVED) == EntryReading(None)
    assert KEEPING.taken_out(APPROVED) == APPROVED


def test_it_may_stand_within_the_table() -> None:
    text = '[mcp_servers.metagit]\ncommand = "o"\ntools = { x = { approval_mode = "approve" } }\nargs = []\n'
    assert KEEPING.put(text, ENTRY) == f'{TABLE}tools = {{ x = {{ approval_mode = "approve" }} }}\n'
    assert KEEPING.taken_out(text) == ""
