"""Puts the board's sources into one document that loads nothing else, and says under which policy a browser runs it.

The sources beside it are a page as they stand: a file server shows them without this. Knows no route and no data.
"""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from metagit_mcp.domain.value import value

_SOURCES: Final = Path(__file__).parent
_STYLE: Final = '<link rel="stylesheet" href="page.css">'
_SCRIPT: Final = '<script type="module" src="page.js"></script>'
_IMPORT: Final = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async )?(?:function|const|class) (\w+))", re.MULTILINE)


@value
class BoardPage:
    """The document, and the value of its Content-Security-Policy header: nothing runs but what stands in it."""

    document: str
    policy: str


@cache
def board_page() -> BoardPage:
    """Return the page. It is the same for everybody: what it shows, it asks for with the reader's own token."""
    style, script = _source("page.css"), _joined("page")
    document = _source("page.html")
    for place, tag, text in ((_STYLE, "style", style), (_SCRIPT, "script", script)):
        opened = f'<{tag} type="module">' if tag == "script" else f"<{tag}>"
        document = document.replace(place, f"{opened}{text}</{tag}>")
    return BoardPage(document=document, policy=_policy(style, script))


def _policy(style: str, script: str) -> str:
    """Return the policy: what stands in the document by its digest, data from where the page came, and nothing else."""
    rules = (
        "default-src 'none'",
        f"script-src {_digest(script)}",
        f"style-src {_digest(style)}",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return "; ".join(rules)


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"


def _joined(first: str) -> str:
    """Return a module and all it imports as one: each once, after what it needs, in a scope of its own."""
    order = list[str]()
    _visit(first, order, set())
    return "\n".join(_scoped(name) for name in order)


def _visit(name: str, order: list[str], seen: set[str]) -> None:
    if name not in seen:
        seen.add(name)
        for _, needed in _IMPORT.findall(_source(f"{name}.js")):
            _visit(needed, order, seen)
        order.append(name)


def _scoped(name: str) -> str:
    """Return a module as a constant that holds what it exports, and takes from others what it imports."""
    source = _source(f"{name}.js")
    exported = ", ".join(what for _, what in _EXPORT.findall(source))
    body = _EXPORT.sub(r"\1", _IMPORT.sub(r"const \1 = \2_js;", source))
    return f"const {name}_js = (() => {{\n{body}return {{ {exported} }};\n}})();"


@cache
def _source(name: str) -> str:
    return (_SOURCES / name).read_text(encoding="utf-8")
