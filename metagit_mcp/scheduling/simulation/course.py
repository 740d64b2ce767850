"""What happened in a run of a workload: which node was worked on from when to when. Knows neither rule nor measure."""

from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.simulation.jobs import Job


@value
class Service:
    """One lease: its node, from which second to which it was held, and what it was charged and cost in the end.

    `is_last`: the node was done with it; else it was paused to make room, or the run was cut off.
    """

    job: Job
    begin: int
    end: int
    charge: int
    cost: int
    is_last: bool


@value
class Course:
    """One run: all nodes by the second in which they came, and all services in the order of their starts.

    `limit` is the second at which it is cut off, if it is; `end` is that, or when nothing was left to do.
    """

    policy: SchedulePolicy
    agents: int
    jobs: tuple[Job, ...]
    services: tuple[Service, ...]
    end: int
    limit: int | None = None
