"""What a process tells of itself in numbers: the calls it answered, and how much there is of what. Knows no exporter.

Nothing here names a node, a Group or an agent: whoever watches a server may see how it fares, and not what it is for.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from metagit_mcp.domain.value import value

# Upper bounds in seconds. A call that waits for work may take its time.
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


@value
class MeasuredCall:
    """One call of a tool, as it ended.

    `outcome` is `ok`, the code of a refusal, `protocol_error`, or `cancelled`; `claims` are the leases that it gave.
    `began_ns` is of the Unix epoch. `parent` is the trace context that the caller sent, as it sent it.
    """

    tool: str
    outcome: str
    began_ns: int
    seconds: float
    claims: int = 0
    protocol: str = ""
    parent: Mapping[str, str] = field(default_factory=dict)


class Times:
    """How long calls of one tool took: how many took at most each bound, and the sum."""

    def __init__(self) -> None:
        """Know of none."""
        self.sum = 0.0
        self._within = [0] * (len(BOUNDS) + 1)

    def add(self, seconds: float) -> None:
        """Count one call."""
        self.sum += seconds
        self._within[bisect_left(BOUNDS, seconds)] += 1

    def buckets(self) -> list[tuple[str, int]]:
        """Return each bound with the calls up to it, the last one being all."""
        names = [*map(str, BOUNDS), "+Inf"]
        return [(name, sum(self._within[: place + 1])) for place, name in enumerate(names)]


class Calls:
    """The calls of tools since this process began."""

    def __init__(self) -> None:
        """Know of none."""
        self.ended: dict[tuple[str, str], int] = {}
        self.times: dict[str, Times] = {}
        self.claims = 0

    def add(self, call: MeasuredCall) -> None:
        """Count one."""
        key = (call.tool, call.outcome)
        self.ended[key] = self.ended.get(key, 0) + 1
        self.times.setdefault(call.tool, Times()).add(call.seconds)
        self.claims += call.claims


@value
class Standing:
    """How much there is of what, in the whole workspace, now. `nodes` are by what they are."""

    nodes: Mapping[str, int]
    ready: int
    runnable: int
    groups: int
    needs_person: int
    leases: int
    position: int
