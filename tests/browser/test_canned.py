"""The answers that tests of the page are fed are answers that the server could give. Needs no browser.

Must not know: the page.
"""

from __future__ import annotations

from metagit_mcp.wire.board_answers import BoardAnswer, GraphPicture
from metagit_mcp.wire.codec import adapter, plain
from tests.browser.canned import board, picture


def test_the_canned_board_is_an_answer() -> None:
    assert plain(adapter(BoardAnswer).validate_python(board())) == board()


def test_the_canned_picture_is_an_answer() -> None:
    assert plain(adapter(GraphPicture).validate_python(picture())) == picture()
