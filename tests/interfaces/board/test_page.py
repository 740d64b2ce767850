"""The board is one document that loads nothing else, and its policy lets run only what stands in it.

Must not know: a browser. What the page does in one is tested in tests/browser.
"""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from metagit_mcp.interfaces import board
from metagit_mcp.interfaces.board.page import board_page

SOURCES = Path(board.__file__).parent
SCRIPTS = sorted(path.name for path in SOURCES.glob("*.js"))
# What turns text into markup or code; titles of nodes are other people's texts.
DANGEROUS = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "Function(",
    "DOMParser",
    ".style",
)


def between(tag: str) -> str:
    """The text of the only element of this kind."""
    [found] = re.findall(rf"<{tag}(?: [^>]*)?>(.*?)</{tag}>", board_page().document, re.DOTALL)
    text: str = found
    return text


def digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_the_policy_names_what_stands_in_the_document_and_nothing_else() -> None:
    assert board_page().policy.split("; ") == [
        "default-src 'none'",
        f"script-src {digest(between('script'))}",
        f"style-src {digest(between('style'))}",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]


def test_the_document_loads_nothing() -> None:
    document = board_page().document
    named = re.findall(r'\s(?:src|href|action|srcset|data)="([^"]*)"', document)

    assert [name for name in named if not name.startswith(("#", "data:image/svg+xml,"))] == []
    assert re.findall(r"@import|url\(|^import |^export ", document, re.MULTILINE) == []


def test_the_document_has_neither_handlers_nor_styles_in_its_elements() -> None:
    markup = board_page().document.replace(between("script"), "").replace(between("style"), "")

    assert re.findall(r"\s(?:on\w+|style)=|javascript:", markup) == []


def test_every_script_is_in_the_document_once() -> None:
    script = between("script")
    made = re.findall(r"^const (\w+)_js = \(\(\) => \{$", script, re.MULTILINE)

    assert sorted(f"{name}.js" for name in made) == SCRIPTS


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_a_script_imports_is_exported_there(name: str) -> None:
    source = (SOURCES / name).read_text(encoding="utf-8")
    imports = re.findall(r'^import \{ ([^}]*) \} from "\./(\w+\.js)";$', source, re.MULTILINE)
    wanted = {(theirs, each) for names, theirs in imports for each in names.split(", ")}
    offered = {(theirs, each) for _, theirs in imports for each in exported(theirs)}

    assert wanted - offered == set()
    assert len(imports) == len(re.findall(r"^import\b", source, re.MULTILINE))


def exported(name: str) -> list[str]:
    source = (SOURCES / name).read_text(encoding="utf-8")
    return re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", source, re.MULTILINE)


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_turns_text_into_markup_or_code(name: str) -> None:
    source = (SOURCES / name).read_text(encoding="utf-8")

    assert [word for word in DANGEROUS if word in source] == []


@pytest.mark.parametrize("name", [*SCRIPTS, "page.html", "page.css"])
def test_a_source_is_short_and_says_what_it_is_for(name: str) -> None:
    lines = (SOURCES / name).read_text(encoding="utf-8").splitlines()

    assert len(lines) <= 400
    assert lines[0].startswith(("/* ", "<!doctype html>"))
