"""Every link leads somewhere, every example parses, and what a citation in the code names is there."""

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Block, anchors, blocks, links, name_of

PARSERS: dict[str, Callable[[str], object]] = {"json": json.loads, "toml": tomllib.loads}
REMARK = re.compile(r"(?:^|\s)# ")
CITATION = re.compile(r"\b(?P<page>\w+)\.md §(?P<section>\d)")


def broken_links(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    wrong = []
    for target in links(page):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if not other.exists() or (anchor and anchor not in anchors(other)):
            wrong.append(target)
    return wrong


def cited_sections() -> set[tuple[str, str]]:
    """The sections that the code cites, by page and number."""
    texts = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "metagit_mcp").rglob("*.py")))
    return {(found["page"], found["section"]) for text in texts for found in CITATION.finditer(text)}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One Two\n[a](#one-two) [b](#three) [c](page.md) [d](gone.md) [e](https://example.org) `[f](g)`\n"
    )
    assert broken_links(page) == ["#three", "gone.md"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_example_of_a_file_parses(page: Path) -> None:
    for block in blocks(page):
        PARSERS.get(block.kind, str)(block.text)


def remarks(block: Block) -> list[str]:
    """The lines of a block to be pasted that a shell would not take: zsh hands a remark to the command as words."""
    if block.kind not in {"sh", "bash", "shell", "console"} or block.text.startswith("# "):
        return []
    typed = (line.removeprefix("$ ") for line in block.text.splitlines() if block.kind != "console" or line[:2] == "$ ")
    return [line for line in typed if REMARK.search(line)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_command_to_be_pasted_has_a_remark(page: Path) -> None:
    assert [line for block in blocks(page) for line in remarks(block)] == []


def test_a_remark_is_noticed() -> None:
    text = "# a\ntwo # b\nthree '#c' d#e\n"
    assert remarks(Block("sh", "one\n" + text, 1)) == ["# a", "two # b"]
    assert remarks(Block("sh", text, 1)) == remarks(Block("text", text, 1)) == []
    assert remarks(Block("console", "$ one # b\n# a\n", 1)) == ["one # b"]


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / target.partition("#")[0]).resolve() for target in links(index)}
    pages = {page for page in (ROOT / "docs").rglob("*.md") if page != index and page.parent.name != "decisions"}
    assert pages - listed == set()


def test_every_section_that_the_code_cites_is_there() -> None:
    pages = {page.stem: page.read_text(encoding="utf-8") for page in PAGES}
    missing = {
        f"{name}.md §{section}"
        for name, section in cited_sections()
        if re.search(rf"^## {section}\. ", pages.get(name, ""), re.MULTILINE) is None
    }
    assert missing == set()


def test_the_code_cites_sections() -> None:
    assert ("scheduling", "2") in cited_sections()
