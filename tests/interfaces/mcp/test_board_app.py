"""The board as an MCP App: the page, what it reads through its host, and the tool that it is shown for.

Must not know: a browser.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from mcp import Client, MCPError

from metagit_mcp.errors import AuthForbidden, GraphNotFound, MetagitError
from metagit_mcp.interfaces.board.page import board_page
from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.wire.board_answers import BoardAnswer, BoardRequest, GraphPicture, PictureRequest
from metagit_mcp.wire.codec import adapter
from tests.interfaces.mcp.fake_application import SETTINGS, FakeKeeping

if TYPE_CHECKING:
    from metagit_mcp.bootstrap import Application

DATA = Path(__file__).resolve().parents[2] / "browser" / "data"
PAGE = "ui://metagit/board"


def canned(name: str) -> Any:  # noqa: ANN401 - whatever the file holds
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


class FakeBoard:
    """Answers with what the page's tests use, and remembers what it was asked."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.asked: list[object] = []
        self._refusal = refusal

    async def board(self, request: BoardRequest) -> BoardAnswer:
        self._note(request)
        return adapter(BoardAnswer).validate_python(canned("board"))

    async def picture(self, request: PictureRequest) -> GraphPicture:
        self._note(request)
        return adapter(GraphPicture).validate_python(canned("picture"))

    def _note(self, request: object) -> None:
        self.asked.append(request)
        if self._refusal is not None:
            raise self._refusal


def client_of(board: FakeBoard) -> Client:
    application = SimpleNamespace(board=board, keeping=FakeKeeping())
    return Client(build_server(lambda: cast("Application", application), SETTINGS))


async def read(board: FakeBoard, uri: str) -> Any:  # noqa: ANN401 - the contents
    async with client_of(board) as client:
        [contents] = (await client.read_resource(uri)).contents
        return contents


async def refused(board: FakeBoard, uri: str) -> MCPError:
    async with client_of(board) as client:
        with pytest.raises(MCPError) as raised:
            await client.read_resource(uri)
    return raised.value


async def test_the_page_is_the_one_that_the_server_serves() -> None:
    contents = await read(FakeBoard(), PAGE)

    assert (contents.mime_type, contents.text) == ("text/html;profile=mcp-app", board_page().document)
    assert contents.meta == {"ui": {"prefersBorder": True}}


async def test_the_status_tool_names_its_page() -> None:
    async with client_of(FakeBoard()) as client:
        tools = (await client.list_tools()).tools

    shown = {tool.name: (tool.meta or {})["ui"] for tool in tools if "ui" in (tool.meta or {})}
    assert shown == {"metagit_schedule_status": {"resourceUri": PAGE}}


async def test_the_page_reads_the_whole_board() -> None:
    board = FakeBoard()

    assert json.loads((await read(board, "metagit://board")).text) == canned("board")
    assert board.asked == [BoardRequest()]


@pytest.mark.parametrize(("name", "graph_id"), [("checkout", "checkout"), ("a%2Fb", "a/b")])
async def test_the_page_reads_a_picture(name: str, graph_id: str) -> None:
    board = FakeBoard()

    assert json.loads((await read(board, f"metagit://board/graphs/{name}")).text) == canned("picture")
    assert board.asked == [PictureRequest(graph_id=graph_id)]


@pytest.mark.parametrize(
    "uri", ["metagit://board/", "metagit://board/graphs/", "metagit://board/graphs/%00", "ui://metagit"]
)
async def test_what_names_nothing_is_unknown(uri: str) -> None:
    board = FakeBoard()

    assert "Unknown resource" in str(await refused(board, uri))
    assert board.asked == []


@pytest.mark.parametrize("refusal", [GraphNotFound(graph_id="checkout"), AuthForbidden()])
async def test_a_refusal_is_an_error(refusal: MetagitError) -> None:
    error = await refused(FakeBoard(refusal), "metagit://board/graphs/checkout")

    assert error.error.data["code"] == refusal.code
