"""Writes the generated pages of docs/reference from the code, or with --check says where they differ from it.

The text is the code's own: docstrings, schema descriptions, the help of commands; `making/wording.py` holds what these
lack. It must not read a workspace.
"""

import argparse
import difflib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from making.of_interfaces import cli_page, errors_page, tools_page
from making.of_rules import policy_page, reasons_page, schemas_page

FOLDER = Path(__file__).resolve().parent / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "errors.md": errors_page,
    "policy.md": policy_page,
    "reasons.md": reasons_page,
    "schemas.md": schemas_page,
    "tools.md": tools_page,
}


def differences() -> Iterator[str]:
    """Yield where the pages differ from the code, as a diff."""
    for name, render in PAGES.items():
        path = FOLDER / name
        found = path.read_text(encoding="utf-8") if path.is_file() else ""
        yield from difflib.unified_diff(
            found.splitlines(), render().splitlines(), f"docs/reference/{name}", "the code", lineterm="", n=1
        )


def main() -> int:
    """Write the pages, or check them; return the exit code."""
    parser = argparse.ArgumentParser(description="Writes the generated pages of docs/reference from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page differs from the code")
    if parser.parse_args().check:
        different = list(differences())
        print("\n".join([*different, "Run: make docs"]) if different else "docs/reference is current")
        return 1 if different else 0
    FOLDER.mkdir(exist_ok=True)
    for name, render in PAGES.items():
        (FOLDER / name).write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
