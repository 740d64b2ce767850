"""What an orchestrator sends over HTTP, read as what the tools are asked. Knows no route and no use case.

The fields are those of the tools, with their bounds and words: what one refuses the other refuses too.
"""

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any, Final, Literal

from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.arguments import parse_request, said
from metagit_mcp.wire.codec import Json
from metagit_mcp.wire.requests import Detail, NextRequest

_OF_NEXT: Final = {each.name: each for each in fields(NextRequest)}


def _as_in_next(name: str) -> Any:  # noqa: ANN401 - stands for any field
    """Declare a field as the tool has it."""
    return field(default=_OF_NEXT[name].default, metadata=_OF_NEXT[name].metadata)


@value
class AdviceRequest:
    """The query of `GET /v1/next`; `agent_id`, as the tool has it, is read as `agent`."""

    limit: int = _as_in_next("limit")
    graph_id: str | None = _as_in_next("graph_id")
    agent: str | None = _as_in_next("agent_id")
    capabilities: tuple[str, ...] | None = _as_in_next("capabilities")
    detail: Detail | None = _as_in_next("detail")
    preview: bool = _as_in_next("preview")


@value
class ClaimRequest:
    """The body of `POST /v1/claim`: the arguments of metagit_schedule_next, where `claim` goes without saying."""

    graph_id: str | None = _as_in_next("graph_id")
    limit: int = said("How many nodes, all for this agent", 1, ge=1, le=100)
    agent_id: str | None = field(
        default=None,
        metadata={
            **_OF_NEXT["agent_id"].metadata,
            "description": "Who takes it; default: the subject of the token. An agent's token names itself or what is "
            "below it",
        },
    )
    claim: Literal[True] = said("May be left out", default=True)
    capabilities: tuple[str, ...] | None = _as_in_next("capabilities")
    wait_seconds: int = _as_in_next("wait_seconds")
    lease_seconds: int | None = _as_in_next("lease_seconds")
    new_session: bool = _as_in_next("new_session")
    detail: Detail | None = _as_in_next("detail")
    action_id: str | None = _as_in_next("action_id")


# What means something only where something is taken.
_OF_A_CLAIM: Final = ("claim", "wait_seconds", "lease_seconds", "new_session", "action_id")


def advice_request(query: Mapping[str, str]) -> NextRequest:
    """Read the query of a URL; what is empty is absent, and capabilities are separated by commas.

    Raises:
        InvalidInput: with `details.field`; what belongs to a claim is refused, and told where it belongs.
    """
    given: Json = {name: text for name, text in query.items() if text and (name, text) != ("claim", "false")}
    for name in _OF_A_CLAIM:
        if name in given:
            hint = "POST /v1/claim takes work: the same fields as a JSON object, and this one too."
            raise InvalidInput(f"{name}: GET /v1/next gives advice and takes nothing", hint=hint, field=name)
    if given.setdefault("agent", given.get("agent_id")) != given.pop("agent_id", given["agent"]):
        raise InvalidInput("agent and agent_id name two different agents", hint="Send one of them.", field="agent")
    named = str(given.get("capabilities", ""))
    if named and not named.lstrip().startswith("["):
        given["capabilities"] = [each.strip() for each in named.split(",") if each.strip()]
    asked = parse_request(AdviceRequest, given)
    return NextRequest(
        limit=asked.limit,
        graph_id=asked.graph_id,
        agent_id=asked.agent,
        capabilities=asked.capabilities,
        detail=asked.detail,
        preview=asked.preview,
    )


def claim_request(body: Json) -> NextRequest:
    """Read the body of a claim.

    Raises:
        InvalidInput: with `details.field`; also where it says that it is no claim.
    """
    if body.get("claim") not in (None, "", True, "true"):
        hint = "Leave it out, or send true; GET /v1/next gives advice and takes nothing."
        raise InvalidInput("claim: must be true here", hint=hint, field="claim")
    return parse_request(NextRequest, {**body, "claim": True})
