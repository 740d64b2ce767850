"""What resources hold that no tool answers alone. Absent means none; knows no use case."""

from metagit_mcp.domain.decision import LoggedDecision
from metagit_mcp.domain.value import value
from metagit_mcp.wire.responses import GraphRecord, Omitted


@value
class DecisionsAnswer:
    """The newest decisions of the log, newest first."""

    recent_decisions: tuple[LoggedDecision, ...]
    truncated: bool = False
    omitted: tuple[Omitted, ...] = ()
    warnings: tuple[str, ...] = ()


@value
class GraphAnswer:
    """One task graph with its nodes."""

    graph: GraphRecord
    truncated: bool = False
    omitted: tuple[Omitted, ...] = ()
    warnings: tuple[str, ...] = ()
