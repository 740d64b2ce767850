"""The command `board`: a server on this machine for one person's browser, for as long as it runs."""

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from metagit_mcp.errors import AuthForbidden
from metagit_mcp.interfaces.cli.confirmation import vouched_by
from metagit_mcp.interfaces.cli.flags import example, text_flag, workspace_flag
from metagit_mcp.interfaces.cli.invocation import Invocation

if TYPE_CHECKING:
    from metagit_mcp.bootstrap import Application
    from metagit_mcp.interfaces.http.address import Address

_ANYWHERE: Final = "127.0.0.1:0"


@click.command(
    short_help="Open the live board in a browser.",
    epilog=example("metagit-mcp board", "metagit-mcp board --http 127.0.0.1:8765 --no-open --operator ada"),
)
@text_flag("--http", "Where to serve it [default: a free port of the loopback interface].", "HOST:PORT")
@click.option("--no-open", is_flag=True, help="Print the address, and open no browser.")
@text_flag("--operator", "Who decides at the board; needed without a terminal, where one only looks.", "NAME")
@workspace_flag
@click.pass_obj
def board(invocation: Invocation, http: str | None, no_open: bool, operator: str | None) -> None:
    """Open the live board: who works on what, what waits for you and why, and whether every Group gets its share.

    It is served for you alone, with a token that ends with this command: Ctrl-C ends both. A script, without a terminal
    and without --operator, only looks.
    """
    from metagit_mcp.interfaces.http.address import read_address
    from metagit_mcp.interfaces.http.serve import Start, run
    from metagit_mcp.settings import settings_from

    settings = settings_from(os.environ, **invocation.settings_flags())
    shown = _printed if no_open else _shown
    run(settings, read_address(http or _ANYWHERE), Start(opened=partial(shown, _decider(operator))))


def _decider(operator: str | None) -> str | None:
    """Return who may decide at the board, if anybody: a person at a terminal, or the one that is named."""
    try:
        return vouched_by(operator, ["the board"], "decide at", typed=False)
    except AuthForbidden:
        return None


@asynccontextmanager
async def _printed(decider: str | None, application: "Application", address: "Address") -> AsyncIterator[None]:
    """Print the address with a token in it; the browser never sends that part to anybody."""
    from metagit_mcp.interfaces.http.serve import say

    async with _entry(decider, application, address) as url:
        say(f"The board of {application.place.path}, until Ctrl-C:", url)
        yield


@asynccontextmanager
async def _shown(decider: str | None, application: "Application", address: "Address") -> AsyncIterator[None]:
    """Open the page by way of a file that only this user can read: other users see what programs are started with."""
    from threading import Thread

    from metagit_mcp.interfaces.http.serve import say

    async with _entry(decider, application, address) as url:
        say(f"The board of {application.place.path} is at {address.url}/ in your browser, until Ctrl-C.")
        with tempfile.NamedTemporaryFile("w", prefix="metagit-board-", suffix=".html") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={url}">\n')
            file.flush()
            # A browser in the terminal keeps whoever opened it waiting.
            Thread(target=_open, args=(f"file://{file.name}", url), daemon=True).start()
            yield


def _open(page: str, url: str) -> None:
    import webbrowser

    from metagit_mcp.interfaces.http.serve import say

    if not webbrowser.open(page):
        say("No browser can be opened here. This is the address:", url)


@asynccontextmanager
async def _entry(decider: str | None, application: "Application", address: "Address") -> AsyncIterator[str]:
    """Give the address with a token of this user, which ends with the command."""
    issued = await application.access.own(decider, address.url)
    try:
        yield f"{address.url}/#token={issued.secret}"
    finally:
        await application.access.revoke(issued.token.token_id, issued.token.subject)
