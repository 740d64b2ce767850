"""The way from a hook to the use cases: where the workspace is, and what they say. Loads them when they are asked."""

import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from metagit_mcp.bootstrap import open_application, place_of
from metagit_mcp.errors import MetagitError, WorkspaceNotFound
from metagit_mcp.interfaces.by_hand import at_once, finished
from metagit_mcp.interfaces.hooks.hosts import Said, silent
from metagit_mcp.settings import Settings, settings_from

if TYPE_CHECKING:
    from metagit_mcp.application.briefing import Briefings

T = TypeVar("T")
Ask = Callable[["Briefings"], Coroutine[Any, Any, T]]


class NoWorkspace(Exception):
    """There is no workspace here: nothing is said."""


class NotKnown(Exception):
    """The workspace cannot be asked now; the text says why, in one line."""


def answered(
    host: str, ask: "Ask[T]", given: Mapping[str, object], environ: Mapping[str, str], say: Callable[[T], Said]
) -> Said:
    """Return what is said of the facts; nothing where there is no workspace, or where it cannot be asked now."""
    try:
        facts = told(ask, given, environ)
    except NoWorkspace:
        return silent(host)
    except NotKnown as failure:
        return silent(host, str(failure))
    return say(facts)


def told(ask: "Ask[T]", given: Mapping[str, object], environ: Mapping[str, str]) -> T:
    """Return what the use cases of the workspace say that the host works in.

    Raises:
        NoWorkspace: there is none.
        NotKnown: it cannot be read now.
    """
    try:
        settings = settings_from(_with_start(given, environ))
        place_of(settings)
        return finished(ask(_briefings(settings)))
    except WorkspaceNotFound:
        raise NoWorkspace from None
    except MetagitError as error:
        raise NotKnown(f"{error.code}: {error.message}") from None


def _with_start(given: Mapping[str, object], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the folder to begin the search in, which a host may tell in its JSON only."""
    roots = given.get("workspace_roots")
    ways = (
        environ.get("CLAUDE_PROJECT_DIR"),
        environ.get("CURSOR_PROJECT_DIR"),
        given.get("cwd"),
        roots[0] if isinstance(roots, list) and roots else None,
    )
    start = next((way for way in ways if isinstance(way, str) and "\0" not in way and os.path.isabs(way)), "")  # noqa: PTH117 - no Path is needed
    return {**environ, "CLAUDE_PROJECT_DIR": start}


def _briefings(settings: Settings) -> "Briefings":
    from metagit_mcp.ports.machine import Waits  # noqa: PLC0415 - where there is a workspace

    # Nothing is claimed: in whose name it would be is not looked up.
    settings = replace(settings, session_id=settings.session_id or "hook")
    return open_application(settings, surface="cli", waits=Waits(offload=at_once, sleep=_asleep)).briefings


async def _asleep(seconds: float) -> None:
    del seconds
