"""Markdown in parts: tables, whole pages, and the words that stand in them. It must not know what a page is about."""

import inspect
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

HEAD = "<!-- Made by docs/generate.py from the code: change it there, then run `make docs`. -->"
Row = Sequence[str]


def table(header: Row, rows: Iterable[Row]) -> str:
    """Return a table; a bar inside a cell is escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(text: object) -> str:
    """Return text as it is typed."""
    return f"`{text}`"


def page(title: str, *parts: str) -> str:
    """Return a whole page."""
    return "\n\n".join([HEAD, f"# {title}", *(part for part in parts if part)]) + "\n"


def told(shape: object) -> str:
    """Return what a docstring says first, on one line."""
    return sentence((inspect.getdoc(shape) or "").split("\n\n")[0])


def sentence(text: str) -> str:
    """Return text on one line, without the section of the documentation that it cites."""
    return re.sub(r" \(\w+\.md[^)]*\)", "", " ".join(text.split()))


def refuse_drift(table_name: str, written: Iterable[str], known: Iterable[str]) -> None:
    """Stop when a table of `wording.py` has other names than the code."""
    difference = sorted(set(written) ^ set(known))
    if difference:
        sys.exit(f"docs/wording.py: {table_name} and the code differ in: {', '.join(difference)}")


def bounds_of(schema: Mapping[str, Any]) -> str:
    """Return type and limits of a JSON Schema in words."""
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return ", ".join(code(each) for each in schema["enum"])
    kind = {"string": "text", "array": "list", "boolean": "true or false"}.get(schema["type"], schema["type"])
    if kind == "list":
        items = schema["items"]
        kind = "list of " + ("records" if items["type"] == "object" else bounds_of(items))
    if "minimum" in schema:
        return f"{kind}, {schema['minimum']:g} to {schema['maximum']:,}"
    return f"{kind}, at most {schema['maxLength']:,} characters" if "maxLength" in schema else kind


def shown_default(schema: Mapping[str, Any]) -> str:
    """Return the default of a JSON Schema; nothing where absence is the default."""
    default = schema.get("default")
    if default is None or default == []:
        return ""
    text = str(default).lower() if isinstance(default, bool) else default
    return ", ".join(map(code, default)) if isinstance(default, list) else code(text)


def yes(flag: bool) -> str:  # noqa: FBT001 - turns it into a word
    """Return a flag as a word."""
    return "yes" if flag else "no"
