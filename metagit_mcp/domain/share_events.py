"""What happened to slots and shares, in the past tense: lines of the ledger like those of events.py. Knows no rule."""

from datetime import datetime

from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.shares import PoolChange, Run
from metagit_mcp.domain.value import value


@value
class RunSeen:
    """Another program began a run, which is charged once; the windows are those of the policy, in units."""

    at: datetime
    run: Run
    class_window: int
    group_window: int


@value
class RunEnded:
    """A run of another program that was charged is over."""

    at: datetime
    graph_id: str
    node_id: str


@value
class PoolRested:
    """A claim found nothing in its pool that anybody could be given, and nothing that runs: what comes now is new."""

    at: datetime
    change: PoolChange


@value
class SlotsHeld:
    """A node that needs more slots than are free is waited for: after some other starts, slots are kept for it."""

    at: datetime
    graph_id: str
    node_id: str
    slots: int


@value
class HoldFilled:
    """The slots of the held node are free: it is to start by `until`."""

    at: datetime
    until: Expiry


@value
class HoldEnded:
    """No slots are kept any more: the node may not start, or did not start in time (`lapsed`)."""

    at: datetime
    graph_id: str
    node_id: str
    lapsed: bool = False


@value
class PreemptionRequested:
    """The holder of a lease is asked to pause at a safe point, for a node of a flow that is further behind."""

    at: datetime
    lease_id: str
    graph_id: str
    node_id: str
    slots: int


ShareEvent = RunSeen | RunEnded | PoolRested | SlotsHeld | HoldFilled | HoldEnded | PreemptionRequested
