"""The documentation as data: its pages, their links, headings and fenced blocks. It must not know what a page says."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^(?:```|<!-- )(?P<kind>\w+)\n(?P<text>.*?)^(?:```|-->)$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True)
class Block:
    """One fenced block, or an HTML comment of the same form, which readers do not see."""

    kind: str
    text: str
    line: int


def name_of(page: Path) -> str:
    """The name of a page in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in its order."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        yield Block(found["kind"], found["text"], text.count("\n", 0, found.start()) + 2)


def prose(page: Path) -> str:
    """The text of a page without its blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def links(page: Path) -> Iterator[str]:
    """The targets of a page's links."""
    return (found["target"] for found in _LINK.finditer(_CODE.sub("`code`", prose(page))))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = (found["text"].lower() for found in _HEADING.finditer(prose(page)))
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in headings}
