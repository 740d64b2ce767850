"""The commands `pause` and `resume`: whether anything new starts, everywhere or in one scope. Knows no file."""

from datetime import UTC, datetime
from typing import Final

import click

from metagit_mcp.domain.commands import PauseScheduling, ResumeScheduling
from metagit_mcp.domain.text import is_any_id, shown
from metagit_mcp.domain.work import PauseScope
from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.confirmation import recorded_as
from metagit_mcp.interfaces.cli.flags import F, example, shared_flags, text_flag
from metagit_mcp.interfaces.cli.invocation import Invocation
from metagit_mcp.interfaces.cli.views.work import view_pause

_LONGEST_NAME: Final = 256
_LONGEST_REASON: Final = 2_000
Scope = tuple[PauseScope, str]


def _scope_flags(command: F) -> F:
    command = text_flag("--operator", "Whose name is recorded; default: yours, as user@host.", "NAME")(command)
    command = text_flag("--resource", "Only nodes that use this resource.", "NAME")(command)
    command = text_flag("--agent", "Only this agent.", "ID")(command)
    return text_flag("--group", "Only this task graph (Group).", "ID")(command)


@click.command(
    short_help="Let nothing new start.",
    epilog=example(
        "metagit-mcp pause --reason 'Release in progress'",
        "metagit-mcp pause --group login --until 2026-12-01T12:00:00Z",
        "metagit-mcp pause --resource staging --operator ada",
    ),
)
@_scope_flags
@text_flag("--reason", "Why; whoever is held up is told.")
@text_flag("--until", "RFC 3339 instant at which it ends by itself.", "TIME")
@shared_flags
@click.pass_obj
def pause(
    invocation: Invocation,
    group: str | None,
    agent: str | None,
    resource: str | None,
    operator: str | None,
    reason: str | None,
    until: str | None,
) -> None:
    """Let nothing new start: in the whole workspace, or in one Group, for one agent, or with one resource.

    Work under way goes on. metagit-mcp resume with the same scope ends it.
    """
    scope, name = _scope(group, agent, resource)
    command = PauseScheduling(
        scope=scope, name=name, by=recorded_as(operator), reason=_reason(reason), until=_until(until)
    )
    answer = finished(invocation.application().rules.pause(command))
    invocation.show(answer, view_pause(answer))


@click.command(
    short_help="End a pause.",
    epilog=example("metagit-mcp resume", "metagit-mcp resume --group login --operator ada"),
)
@_scope_flags
@shared_flags
@click.pass_obj
def resume(
    invocation: Invocation, group: str | None, agent: str | None, resource: str | None, operator: str | None
) -> None:
    """End a pause: that of the whole workspace, or that of one Group, agent or resource."""
    scope, name = _scope(group, agent, resource)
    command = ResumeScheduling(scope=scope, name=name, by=recorded_as(operator))
    answer = finished(invocation.application().rules.resume(command))
    invocation.show(answer, view_pause(answer))


def _scope(group: str | None, agent: str | None, resource: str | None) -> Scope:
    named: list[Scope] = [("group", group or ""), ("agent", agent or ""), ("resource", resource or "")]
    given = [(scope, name) for scope, name in named if name]
    if not given:
        return "workspace", ""
    if len(given) > 1:
        words = " and ".join(f"--{scope}" for scope, _ in given)
        raise InvalidInput(f"{words} name several scopes", hint="Pause one after another.", field=given[1][0])
    scope, name = given[0]
    is_fit = is_any_id(name) if scope == "group" else shown(name, _LONGEST_NAME) == name
    if not is_fit:
        raise InvalidInput(f"{scope}: no {scope} could have this name", field=scope)
    return scope, name


def _reason(text: str | None) -> str:
    if text is not None and len(text) > _LONGEST_REASON:
        raise InvalidInput(f"reason: should have at most {_LONGEST_REASON} characters", field="reason")
    return text or ""


def _until(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    hint = "For example: 2026-12-01T12:00:00Z"
    raise InvalidInput("until: must be an RFC 3339 instant with its offset", hint=hint, field="until")
