"""What may be asked of the schedule of one Group, and what is answered: nothing of any other. Knows no use case."""

from datetime import datetime

from metagit_mcp.domain.feeds import CapacityStatus
from metagit_mcp.domain.text import ANY_ID_PATTERN
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.estimate import StartWindow
from metagit_mcp.wire.arguments import said


@value
class EstimateRequest:
    """Asks when a Group, or one of its nodes, will start and be done."""

    group_id: str = said("The Group, or task graph", min_length=1, max_length=256, pattern=ANY_ID_PATTERN)
    node_id: str | None = said(
        "One node of it; default: its next start and its end",
        None,
        min_length=1,
        max_length=256,
        pattern=ANY_ID_PATTERN,
    )


@value
class EstimateAnswer:
    """The answer to metagit_group_estimate. Absent instants cannot be told; a warning says why.

    `confidence`, 0 to 1, is how often what the Group was told came true, and 0.5 as long as nothing did or failed to.
    """

    group_id: str
    confidence: float
    capacity_status: CapacityStatus
    last_calculated_at: datetime
    warnings: tuple[str, ...]
    next_step: str
    node_id: str | None = None
    estimated_start: StartWindow | None = None
    estimated_completion: datetime | None = None
