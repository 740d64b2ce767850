"""The board as an MCP App: its page, and what the page reads through its host. Must not know files, nor a ledger.

In a host the page has neither an address of ours nor a person who signed in: it looks, and offers nothing to decide.
"""

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from mcp import types

from metagit_mcp.domain.text import is_any_id
from metagit_mcp.interfaces.board.page import board_page
from metagit_mcp.wire.board_answers import BoardRequest, PictureRequest
from metagit_mcp.wire.codec import line

if TYPE_CHECKING:
    from metagit_mcp.bootstrap import Application

PAGE_URI: Final = "ui://metagit/board"
_APP_HTML: Final = "text/html;profile=mcp-app"
_BOARD: Final = "metagit://board"
_PICTURE: Final = "metagit://board/graphs/"

AppRequest = BoardRequest | PictureRequest


def app_page() -> types.ReadResourceResult:
    """Return the page. It loads nothing and connects to nothing: no domain is asked for."""
    meta = {"ui": {"prefersBorder": True}}
    page = types.TextResourceContents(uri=PAGE_URI, mime_type=_APP_HTML, text=board_page().document, _meta=meta)
    return types.ReadResourceResult(contents=[page])


def asked_by_app(uri: str) -> AppRequest | None:
    """Return what the page asks for with a URI, or None if that is none of its own."""
    if uri == _BOARD:
        return BoardRequest()
    name = unquote(uri.removeprefix(_PICTURE))
    return PictureRequest(graph_id=name) if uri.startswith(_PICTURE) and is_any_id(name) else None


async def shown_by_app(application: "Application", asked: AppRequest) -> str:
    """Return the answer as JSON: whole, since no model reads it."""
    board = application.board
    answer = await (board.board(asked) if isinstance(asked, BoardRequest) else board.picture(asked))
    return line(answer).decode()
