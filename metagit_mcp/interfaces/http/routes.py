"""The JSON beside MCP: what the board shows, what a person decides, what an orchestrator asks for. The table of routes.

A handler parses, makes one call to the application, and renders. It speaks for the caller of its request; whether
that one may, is the use case's to say.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metagit_mcp.bootstrap import Application
from metagit_mcp.domain.access import Act
from metagit_mcp.domain.commands import PauseScheduling, ResumeScheduling
from metagit_mcp.errors import InternalError, MetagitError
from metagit_mcp.interfaces.http.answers import answered, refused
from metagit_mcp.interfaces.http.dispatching import claim, report, show_next, start
from metagit_mcp.interfaces.http.identity import caller_now
from metagit_mcp.interfaces.http.reading import body_of, query_of
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.board_answers import BoardRequest, PictureRequest
from metagit_mcp.wire.codec import compact
from metagit_mcp.wire.person_requests import ApproveRequest, NodeRequest, PauseRequest, ResumeRequest, ReviewRequest
from metagit_mcp.wire.requests import StatusRequest

Opened = Callable[[], Awaitable[Application]]
Handler = Callable[[Request, Application, str], Awaitable[Any]]
# Programs in between give up on a stream that is silent for longer.
_PING_EVERY_S: Final = 15
_log = logging.getLogger(__name__)


async def show_status(request: Request, application: Application, _: str) -> object:
    """How things stand: what `schedule status --json` prints."""
    return await application.schedule.status(parse_request(StatusRequest, query_of(request)))


async def show_board(request: Request, application: Application, _: str) -> object:
    """All that the board shows."""
    return await application.board.board(parse_request(BoardRequest, query_of(request)))


async def show_graph(request: Request, application: Application, _: str) -> object:
    """One task graph as a picture."""
    named = parse_request(PictureRequest, {"graph_id": request.path_params["graph_id"]})
    return await application.board.picture(named)


async def approve(request: Request, application: Application, by: str) -> object:
    """Approve a node as the board showed it."""
    asked = parse_request(ApproveRequest, await body_of(request))
    return await application.rules.approve(asked.node_id, asked.graph_id, by, asked.digest)


async def review(request: Request, application: Application, by: str) -> object:
    """Judge a submitted result."""
    asked = parse_request(ReviewRequest, await body_of(request))
    return await application.work.review(asked.node_id, asked.graph_id, by, accept=asked.accept, note=asked.note)


async def retry(request: Request, application: Application, by: str) -> object:
    """Let a parked node be tried again."""
    asked = parse_request(NodeRequest, await body_of(request))
    return await application.work.retry(asked.node_id, asked.graph_id, by)


async def release(request: Request, application: Application, by: str) -> object:
    """Take a node from whoever has it."""
    asked = parse_request(NodeRequest, await body_of(request))
    return await application.work.release(asked.node_id, asked.graph_id, by, asked.note)


async def pause(request: Request, application: Application, by: str) -> object:
    """Let nothing new start in a scope."""
    asked = parse_request(PauseRequest, await body_of(request))
    command = PauseScheduling(scope=asked.scope, name=asked.name, by=by, reason=asked.reason, until=asked.until)
    return await application.rules.pause(command)


async def resume(request: Request, application: Application, by: str) -> object:
    """End a pause."""
    asked = parse_request(ResumeRequest, await body_of(request))
    return await application.rules.resume(ResumeScheduling(scope=asked.scope, name=asked.name, by=by))


LOOKS: Final[tuple[tuple[str, Handler], ...]] = (
    ("/v1/next", show_next),
    ("/v1/status", show_status),
    ("/v1/board", show_board),
    ("/v1/graphs/{graph_id:path}", show_graph),
)
# Advice is logged.
_BEGINNING: Final = frozenset({"/v1/next"})
# With the act that each is: whoever may not do it is told so before what it sent is read.
CHANGES: Final[tuple[tuple[str, Handler, Act], ...]] = (
    ("/v1/claim", claim, "take_work"),
    ("/v1/start", start, "take_work"),
    ("/v1/report", report, "take_work"),
    ("/v1/approve", approve, "judge"),
    ("/v1/review", review, "judge"),
    ("/v1/retry", retry, "judge"),
    ("/v1/release", release, "judge"),
    ("/v1/pause", pause, "pause"),
    ("/v1/resume", resume, "pause"),
)


def json_routes(opened: Opened) -> list[Route]:
    """Return all routes of the table, and the stream of changes."""
    looks = [Route(path, _answering(handler, opened), methods=["GET"]) for path, handler in LOOKS]
    return [
        *(_without_head(route) if route.path in _BEGINNING else route for route in looks),
        *(Route(path, _answering(handler, opened, act), methods=["POST"]) for path, handler, act in CHANGES),
        _without_head(Route("/v1/changes", _changes(opened), methods=["GET"])),
    ]


def _without_head(route: Route) -> Route:
    """Return a route at which nothing begins for whoever asks for its headers alone."""
    route.methods = {"GET"}
    return route


def _answering(handler: Handler, opened: Opened, act: Act | None = None) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            caller = caller_now()
            if act is not None:
                caller.allow(act)
            application = (await opened()).speaking_for(caller)
            return answered(await handler(request, application, caller.claims_as))
        except MetagitError as error:
            return refused(error)
        except Exception:  # noqa: BLE001 - the border: what nobody expected is told apart and logged
            _log.exception("answering a request failed")
            return refused(InternalError())

    return answer


def _changes(opened: Opened) -> Callable[[Request], Awaitable[Response]]:
    """Return the stream that says each time that the board would show something else."""

    async def stream(request: Request) -> Response:
        try:
            caller = caller_now()
            board = (await opened()).speaking_for(caller).board
            versions = board.changes(parse_request(BoardRequest, query_of(request)).graph_id)
            first = await anext(versions)
        except MetagitError as error:
            return refused(error)
        except Exception:  # noqa: BLE001 - the border, as above
            _log.exception("looking at changes failed")
            return refused(InternalError())
        return EventSourceResponse(_told(first, versions), ping=_PING_EVERY_S)

    return stream


async def _told(first: str, versions: AsyncIterator[str]) -> AsyncIterator[dict[str, str]]:
    """Yield the changes until there is nothing more to tell: the token ended, or what was looked at is gone."""
    yield _change(first)
    try:
        async for version in versions:
            yield _change(version)
    except MetagitError:
        return


def _change(version: str) -> dict[str, str]:
    return {"event": "change", "data": compact({"state_version": version}).decode()}
