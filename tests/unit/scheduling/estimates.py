"""Makes estimates of small Groups under policies whose bounds can be worked out by hand. It must not know any."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from metagit_mcp.domain.limits import DisclosurePolicy, PreemptionPolicy
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.scheduling.estimate import Forecast
from tests.snapshots import NOW, group, queue_of, task

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import TaskNode
    from metagit_mcp.scheduling.estimate import ScheduleEstimate

# One other Group, nodes of one unit, and nobody makes room: figures that can be worked out by hand.
FEW = DisclosurePolicy(max_groups=2, max_cost=1)
STILL = PreemptionPolicy(enabled=False)
SECOND = timedelta(seconds=1)


def policy_of(**fields: Any) -> SchedulePolicy:  # noqa: ANN401 - any field of the policy
    return SchedulePolicy(
        **{"slots": 2, "deadline_window": 0, "disclosure": FEW, "preemption": STILL, "pass_over_limit": 0, **fields}
    )


def forecast(*nodes: TaskNode, work: Any = None, paused: bool = False, **fields: Any) -> Forecast:  # noqa: ANN401 - a state, and as above
    policy = policy_of(**fields)
    queue = queue_of(group("g", *nodes), policy=policy, **({"work": work} if work else {}))
    return Forecast(queue.groups["g"], policy, NOW, paused=paused)


def seconds(told: ScheduleEstimate) -> tuple[int, int, int | None]:
    """The start from and to, and the end, in seconds from now."""
    assert told.estimated_start is not None
    end = told.estimated_completion
    return (
        (told.estimated_start.earliest - NOW) // SECOND,
        (told.estimated_start.latest - NOW) // SECOND,
        None if end is None else (end - NOW) // SECOND,
    )


def one(node_id: str, *depends_on: str, **fields: Any) -> TaskNode:  # noqa: ANN401 - any field of a node
    return task(node_id, *depends_on, **{"estimated_tokens": 1_000, **fields})
