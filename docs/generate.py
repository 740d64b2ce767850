"""Writes what the documentation says from the code, or with --check says where it differs.

Whole pages of docs/reference, and parts of pages between `<!-- made: NAME -->` and `<!-- end -->`. The text is the
code's own: docstrings, schema descriptions, the help of commands; `making/wording.py` holds what these lack. It must
not read a workspace.
"""

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from making.of_access import access_page
from making.of_http import http_page
from making.of_interfaces import cli_page, errors_page, tools_page
from making.of_rules import policy_page, reasons_page, schemas_page
from making.of_work import events_page, states_diagram, states_table

FOLDER = Path(__file__).resolve().parent
PAGES: Mapping[str, Callable[[], str]] = {
    "reference/access.md": access_page,
    "reference/cli.md": cli_page,
    "reference/errors.md": errors_page,
    "reference/events.md": events_page,
    "reference/http.md": http_page,
    "reference/policy.md": policy_page,
    "reference/reasons.md": reasons_page,
    "reference/schemas.md": schemas_page,
    "reference/tools.md": tools_page,
}
PARTS: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "explanation/work.md": {"states": states_diagram, "transitions": states_table},
}


def made() -> Iterator[tuple[str, str]]:
    """Yield each page that is made, whole or in parts, as it is to be."""
    for name, render in PAGES.items():
        yield name, render()
    for name, parts in PARTS.items():
        text = text_of(name)
        for part, render in parts.items():
            text = with_part(text, part, render())
        yield name, text


def text_of(name: str) -> str:
    """Return a page as it is; nothing where it is missing."""
    path = FOLDER / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def with_part(text: str, part: str, content: str) -> str:
    """Return a page with one part made anew; a page that has no place for it gets one at its end."""
    place = re.compile(rf"^<!-- made: {part} -->\n.*?^<!-- end -->\n", re.MULTILINE | re.DOTALL)
    block = f"<!-- made: {part} -->\n\n{content}\n\n<!-- end -->\n"
    return place.sub(lambda _: block, text) if place.search(text) else f"{text}\n{block}"


def differences() -> Iterator[str]:
    """Yield where the pages differ from the code, as a diff."""
    for name, text in made():
        yield from difflib.unified_diff(
            text_of(name).splitlines(), text.splitlines(), f"docs/{name}", "the code", lineterm="", n=1
        )


def main() -> int:
    """Write the pages, or check them; return the exit code."""
    parser = argparse.ArgumentParser(description="Writes what the documentation says from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page differs from the code")
    if parser.parse_args().check:
        different = list(differences())
        print("\n".join([*different, "Run: make docs"]) if different else "the documentation is current")
        return 1 if different else 0
    for name, text in made():
        (FOLDER / name).parent.mkdir(exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
