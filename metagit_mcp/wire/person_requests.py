"""What a person asks for at the board: to begin a session, and what is a person's to decide. Knows no route."""

from datetime import datetime

from metagit_mcp.domain.text import ANY_ID_PATTERN
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import PauseScope
from metagit_mcp.wire.arguments import said

_LONGEST_ID = 256
_LONGEST_TEXT = 2_000


def _named(description: str) -> str:
    name: str = said(description, min_length=1, max_length=_LONGEST_ID, pattern=ANY_ID_PATTERN)
    return name


def _text(description: str) -> str:
    text: str = said(description, "", max_length=_LONGEST_TEXT)
    return text


@value
class SessionRequest:
    """Begins a browser's session."""

    token: str = said("The secret of a token", min_length=1, max_length=200)


@value
class ApproveRequest:
    """Approves a node as it was shown."""

    graph_id: str = _named("The graph")
    node_id: str = _named("The node")
    digest: str = said("What the approval is bound to, as the board shows it", min_length=64, max_length=64)


@value
class ReviewRequest:
    """Judges a submitted result."""

    graph_id: str = _named("The graph")
    node_id: str = _named("The node")
    accept: bool = said("Whether the result is good")
    note: str = _text("What to do better, where it is not")


@value
class NodeRequest:
    """Takes a node from its owner, or lets it be tried again."""

    graph_id: str = _named("The graph")
    node_id: str = _named("The node")
    note: str = _text("Why")


@value
class PauseRequest:
    """Lets nothing new start in a scope."""

    scope: PauseScope = said("What is paused")
    name: str = said("Which Group, agent or resource", "", max_length=_LONGEST_ID)
    reason: str = _text("Why; whoever is held up is told")
    until: datetime | None = said("When it ends by itself", None)


@value
class ResumeRequest:
    """Ends a pause."""

    scope: PauseScope = said("What was paused")
    name: str = said("Which Group, agent or resource", "", max_length=_LONGEST_ID)
