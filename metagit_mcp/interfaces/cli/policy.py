"""The commands `schedule policy …`. They ask who vouches for a change; which values are allowed they do not know."""

from dataclasses import fields
from typing import Any, Final

import click

from metagit_mcp.domain.policy import RFC_KEYS, SchedulePolicy
from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.confirmation import vouched_by
from metagit_mcp.interfaces.cli.flags import (
    example,
    operator_flag,
    request_flags,
    shared_flags,
    text_flag,
    text_from,
)
from metagit_mcp.interfaces.cli.groups import LazyGroup
from metagit_mcp.interfaces.cli.invocation import Invocation
from metagit_mcp.interfaces.cli.views.policy import view_policy
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.policy_codec import parse_patch
from metagit_mcp.wire.requests import PolicyRequest

# The action is the command, and a patch may come from a file; the rest are flags.
_FIXED: Final = frozenset({"action", "patch"})
_PATCH_HELP: Final = "RFC 7396 merge patch of policy.json: the JSON itself, @FILE with it, or - for standard input."
_NO_CHANGES: Final = frozenset({each.name for each in fields(PolicyRequest)})


@click.group(cls=LazyGroup, epilog=example("metagit-mcp schedule policy show"))
@shared_flags
def policy() -> None:
    """Show the policy, change it, or try a change."""


@policy.command("show", epilog=example("metagit-mcp schedule policy show --json"))
@request_flags(PolicyRequest, without=_NO_CHANGES)
@shared_flags
@click.pass_obj
def show_command(invocation: Invocation) -> None:
    """Show the policy in force and its revision."""
    _run(invocation, PolicyRequest(action="show"))


@policy.command(
    "preview",
    short_help="Show what a change would do.",
    epilog=example(
        "metagit-mcp schedule policy preview --affinity 0",
        "metagit-mcp schedule policy preview --graph-id login --priority 3",
    ),
)
@request_flags(PolicyRequest, without=_FIXED)
@text_flag("--patch", _PATCH_HELP, "JSON|@FILE|-")
@shared_flags
@click.pass_obj
def preview_command(invocation: Invocation, /, **flags: Any) -> None:  # noqa: ANN401 - whatever the request has
    """Show what a change would do to the order and to the Groups' shares; nothing is written."""
    _run(invocation, _request("preview", flags))


@policy.command(
    "set",
    epilog=example(
        "metagit-mcp schedule policy set --priority 2 --skip-on-merge-pressure",
        "metagit-mcp schedule policy set --graph-id login --priority 3",
        """metagit-mcp schedule policy set --patch '{"slots": 4}' --operator ada""",
        "metagit-mcp schedule policy set --patch @policy-patch.json",
    ),
)
@request_flags(PolicyRequest, without=_FIXED)
@text_flag("--patch", _PATCH_HELP, "JSON|@FILE|-")
@operator_flag
@shared_flags
@click.pass_obj
def set_command(invocation: Invocation, /, operator: str | None, **flags: Any) -> None:  # noqa: ANN401 - whatever the request has
    """Change the policy.

    Weights, the merge queue's threshold and penalty, skipping and graph overrides may be set by anybody. Every other
    key is Organization policy: at a terminal you type its name, without one --operator NAME vouches for it.
    """
    request = _request("set", flags)
    keys = _organization_keys(request)
    operator = vouched_by(operator, keys, "set it") if keys else operator
    _run(invocation, request, operator=operator)


def _request(action: str, flags: dict[str, Any]) -> PolicyRequest:
    patch = text_from(flags.get("patch"), "patch")
    return parse_request(PolicyRequest, {**flags, "action": action, "patch": patch})


def _organization_keys(request: PolicyRequest) -> list[str]:
    """The keys of a patch that a person has to vouch for; a key that no policy has is refused later, by name."""
    patch = parse_patch(request.patch) if request.patch is not None else {}
    known = {each.name for each in fields(SchedulePolicy)}
    return sorted(key for key in patch if key in known and key not in RFC_KEYS)


def _run(invocation: Invocation, /, request: PolicyRequest, **flags: object) -> None:
    answer = finished(invocation.application(**flags).policies.run(request))
    invocation.show(answer, view_policy(answer, request.action))
