"""The programs that the how-to pages show: a block whose first line is a comment with the name of its file.

Must not know what a program does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.docs.pages import ROOT, blocks

if TYPE_CHECKING:
    from pathlib import Path


def program(page: str, name: str) -> str:
    """The whole program that a page of docs/how-to/ calls `name`; there is one."""
    shown = [each.text for each in blocks(ROOT / "docs" / "how-to" / f"{page}.md")]
    [text] = [each for each in shown if each.startswith(f"# {name}\n")]
    return text


def written(page: str, name: str, folder: Path) -> Path:
    """The same, as a file in a folder."""
    path = folder / name
    path.write_text(program(page, name), encoding="utf-8")
    return path
