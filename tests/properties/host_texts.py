"""Texts of documents as people and editors write them: JSON with any spacing, JSONC, TOML, Markdown. Knows no host."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

GAPS = ("", "", " ", "  ", "\t", "\n", "\n  ", "\n\t", "\r\n", "\r\n    ", "\n\n")
COMMENTS = ("// c\n", "//\r\n", "/* c */", "/* a\n b */ ", " // {\n  ", "/**/")
KEYS = st.sampled_from(("a", "mcpServers", "metagit", "other", "ä", "with space", "", "servers"))
WORDS = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5)
)


@st.composite
def json_texts(draw: st.DrawFn, *, lenient: bool = False, ours: bool = False) -> str:
    """A JSON document whose top is an object; its `mcpServers` are objects, with `metagit` only if it may be."""
    kinds = (*GAPS, *COMMENTS) if lenient else GAPS
    gap = st.sampled_from(kinds)

    def an_object(keys: st.SearchStrategy[str], inner: Callable[[str, int], str], depth: int) -> str:
        names = draw(st.lists(keys, max_size=3))
        members = [
            f"{draw(gap)}{json.dumps(name, ensure_ascii=draw(st.booleans()))}{draw(gap)}:{draw(gap)}"
            f"{inner(name, depth)}{draw(gap)}"
            for name in names
        ]
        comma = "," if lenient and members and draw(st.booleans()) else ""
        return f"{{{','.join(members)}{comma}{draw(gap)}}}"

    def a_value(name: str, depth: int) -> str:
        if name == "mcpServers" and depth == 0:
            return an_object(KEYS.filter(lambda each: ours or each != "metagit"), a_value, depth + 1)
        if depth < 3 and draw(st.integers(0, 3)) == 0:
            return an_object(KEYS, a_value, depth + 1)
        if depth < 3 and draw(st.integers(0, 4)) == 0:
            items = [f"{draw(gap)}{a_value('', depth + 1)}{draw(gap)}" for _ in range(draw(st.integers(0, 3)))]
            return f"[{','.join(items)}{draw(gap)}]"
        return json.dumps(draw(WORDS), ensure_ascii=draw(st.booleans()))

    return f"{draw(gap)}{an_object(KEYS, a_value, 0)}{draw(gap)}"


LINES = (
    "a = 1",
    "  b = 'x' # c",
    "",
    "# only a comment",
    "",
    's = """\n[mcp_servers.metagit]\n"""',
    "l = '''\n'a' \"\"\" # no\n'''",
    "m = [ # c\n  [1, 2],\n  {x = 'y'}, # d\n]",
    "[t]",
    "[t.u] # c",
    "[[r]]",
    "  [[r]]",
    "[mcp_servers]",
    "[mcp_servers.other]",
    '[ mcp_servers . "quoted.name" ]',
    'command = "x"',
    "env = { K = \"#\", L = '[x]' }",
    "mcp_servers.dotted.command = 'x'",
    "mcp_servers.other.env.X = 'x'",
    "d = 1979-05-27T07:32:00Z",
)


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """Lines that often make a TOML document; whether they do, a test has to look itself."""
    lines = draw(st.lists(st.sampled_from(LINES), max_size=8))
    newline = draw(st.sampled_from(("\n", "\r\n")))
    return newline.join(lines).replace("\n", newline).replace("\r\r", "\r") + draw(
        st.sampled_from(("", newline, newline * 2))
    )


@st.composite
def markdown_texts(draw: st.DrawFn) -> str:
    """Any lines, with any line ends."""
    parts = st.sampled_from(("# T", "", "text", "- a", "```", "<!-- c -->", "<!-- BEGIN other -->", " \t", "é", "\r"))
    lines = draw(st.lists(st.tuples(parts, st.sampled_from(("\n", "\r\n", "\n\n"))), max_size=6))
    return "".join(f"{line}{end}" for line, end in lines) + draw(st.sampled_from(("", "last", "last ")))
