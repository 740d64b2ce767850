"""One Group as one asker sees it: its lanes, its nodes in numbers, and what it would give now. Knows no other Group."""

from bisect import bisect_left, insort
from typing import NamedTuple

from metagit_mcp.scheduling.eligibility import ReasonKind
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.tally import Tally

# (whether the asker gave it back, -score in micros, effective tokens, node_id, place of the lane in its Group):
# ascending is best first; what the asker gave back comes after all else it may take (work.md §1, release).
Head = tuple[bool, int, int, str, int]
# The same with the Group's id in place of the lane's, then with both.
Top = tuple[bool, int, int, str, str]
SkippedHead = tuple[bool, int, int, str, str, int]


class Offer(NamedTuple):
    """The node that a Group would give the asker now, whatever slots are free (scheduling.md §1, head).

    `passed_over` is not 0 where the guard picks it, and says in how many dispatches it was passed over. The asker gave
    back what is `is_shunned`: it gets that once nothing else is left.
    """

    graph_id: str
    node_id: str
    micros: int
    tokens: int
    slots: int
    place: int
    passed_over: int = 0
    is_shunned: bool = False


class Standing:
    """One Group's heads that the asker may take, the heads skipped, its nodes in numbers, and its offer.

    `heads` is sorted; `kinds`, `sizes` and `first` are of each lane what keeps the asker from it, how many nodes were
    counted, and its head, where that is in `heads` or `skipped`. `is_stopped`: nothing more is given until the best
    node, which only lacks quota, fits in.
    """

    __slots__ = (
        "counted",
        "first",
        "group",
        "heads",
        "is_stopped",
        "kinds",
        "lacking",
        "lanes",
        "offer",
        "sizes",
        "skipped",
        "top",
    )

    def __init__(self, group: GroupQueue) -> None:
        """Know no lane yet."""
        self.group = group
        self.heads: list[Head] = []
        self.skipped: dict[int, Head] = {}
        self.kinds: list[ReasonKind | None] = []
        self.sizes: list[int] = []
        self.first: list[Head | None] = []
        self.lanes = Tally()
        self.counted = Tally()
        self.top: Top | None = None
        self.offer: Offer | None = None
        self.is_stopped = False
        # The best node, where it lacks only quota.
        self.lacking: str | None = None

    def put_lane(self, place: int, kind: ReasonKind | None, head: Head | None, *, in_order: bool = True) -> None:
        """Take over what is true of a lane now: what keeps the asker from it, and its head."""
        lane = self.group.lanes[place]
        if place == len(self.kinds):
            self.kinds.append(None)
            self.sizes.append(0)
            self.first.append(None)
        else:
            self._drop(place)
        self.kinds[place], self.sizes[place], self.first[place] = kind, len(lane), head
        self.lanes.count(kind, lane.demand.slots, self.sizes[place])
        if head is None:
            return
        if kind is not None:
            self.skipped[place] = head
        elif in_order:
            insort(self.heads, head)
        else:
            self.heads.append(head)

    def _drop(self, place: int) -> None:
        """Take out what was known of a lane."""
        kind, head = self.kinds[place], self.first[place]
        self.lanes.count(kind, self.group.lanes[place].demand.slots, -self.sizes[place])
        if head is None:
            return
        if kind is not None:
            del self.skipped[place]
        else:
            del self.heads[bisect_left(self.heads, head)]

    def width(self, head: Head) -> int:
        """Return the slots that a head needs."""
        return self.group.lanes[head[4]].demand.slots

    def make_offer(self, drain_limit: int, guarded: Head | None, passed_over: int) -> None:
        """Work out anew what the Group would give; `guarded` is what the guard picks, where it does."""
        self.is_stopped, self.lacking = False, None
        self.offer = self._offer(drain_limit, guarded, passed_over) if self.heads else None

    def _offer(self, drain_limit: int, guarded: Head | None, passed_over: int) -> Offer | None:
        head = self.heads[0] if guarded is None else guarded
        free = self.quota_left
        if free is not None and self.width(head) > free:
            self.lacking, known = head[3], self.group.round
            starts = known.lacking_starts if known is not None and known.lacking == self.lacking else 0
            self.is_stopped = starts >= drain_limit
            fitting = next((each for each in self.heads if self.width(each) <= free), None)
            if self.is_stopped or fitting is None:
                return None
            head, passed_over = fitting, 0
        return self.offered(head, passed_over)

    def offered(self, head: Head, passed_over: int = 0) -> Offer:
        """Return one of the heads as an offer."""
        is_shunned, negative, tokens, node_id, place = head
        return Offer(self.group.graph_id, node_id, -negative, tokens, self.width(head), place, passed_over, is_shunned)

    @property
    def quota_left(self) -> int | None:
        """The slots that the quota leaves; None for no limit."""
        quota = self.group.quota
        return None if quota is None else quota - self.group.running_slots

    def tally(self) -> Tally:
        """Return the Group in numbers: lanes, nodes that are not in a lane, and what the quota leaves no room for."""
        group, found, free = self.group, Tally(), self.quota_left
        found.add(self.lanes, 1)
        found.ready = group.ready_count
        for kind, nodes in group.first_reasons.items():
            found.not_eligible[kind] += nodes
        if free is not None:
            for width in [width for width in found.fitting if width > free or self.is_stopped]:
                found.not_eligible["group_quota"] += found.fitting.pop(width)
        return found
