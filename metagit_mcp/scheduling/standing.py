"""One Group as one asker sees it: its lanes, its nodes in numbers, and what it would give now. Knows no other Group."""

from bisect import bisect_left, insort
from typing import NamedTuple

from metagit_mcp.domain.tasks import TaskNode
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
    node: TaskNode
    micros: int
    tokens: int
    slots: int
    place: int
    passed_over: int = 0
    is_shunned: bool = False

    @property
    def node_id(self) -> str:
        """The id of the node."""
        return self.node.node_id


class Standing:
    """One Group's heads that the asker may take, the heads skipped, its nodes in numbers, and its offer.

    `heads` is sorted; `kinds` and `first` are of each lane what keeps the asker from it, and its head, where that is in
    `heads` or `skipped`. `is_stopped`: nothing more is given until the best node, which only lacks quota, fits in.
    """

    __slots__ = (
        "_as_counted",
        "_lanes",
        "_uncounted",
        "counted",
        "first",
        "group",
        "heads",
        "is_stopped",
        "kinds",
        "lacking",
        "offer",
        "skipped",
        "top",
    )

    def __init__(self, group: GroupQueue) -> None:
        """Know no lane yet."""
        self.group = group
        self.heads: list[Head] = []
        self.skipped: dict[int, Head] = {}
        self.kinds: list[ReasonKind | None] = []
        self.first: list[Head | None] = []
        # The lanes in numbers: as what each was counted, and which are to be counted again.
        self._lanes = Tally()
        self._as_counted: dict[int, tuple[ReasonKind | None, int]] = {}
        self._uncounted: set[int] = set()
        self.counted = Tally()
        self.top: Top | None = None
        self.offer: Offer | None = None
        self.is_stopped = False
        # The best node, where it lacks only quota.
        self.lacking: str | None = None

    def put_lane(self, place: int, kind: ReasonKind | None, head: Head | None, *, in_order: bool = True) -> None:
        """Take over what is true of a lane now: what keeps the asker from it, and its head."""
        if place == len(self.kinds):
            self.kinds.append(None)
            self.first.append(None)
        before = self.first[place]
        if before is not None and self.kinds[place] is not None:
            del self.skipped[place]
        elif before is not None:
            del self.heads[bisect_left(self.heads, before)]
        self.kinds[place], self.first[place] = kind, head
        self._uncounted.add(place)
        if head is None:
            return
        if kind is not None:
            self.skipped[place] = head
        elif in_order:
            insort(self.heads, head)
        else:
            self.heads.append(head)

    def width(self, head: Head) -> int:
        """Return the slots that a head needs."""
        return self.group.lanes[head[4]].demand.slots

    def make_offer(self, drain_limit: int, guarded: Head | None, passed_over: int) -> None:
        """Work out anew what the Group would give; `guarded` is what the guard picks, where it does."""
        self.is_stopped, self.lacking, self.offer = False, None, None
        if not self.heads:
            return
        head = self.heads[0] if guarded is None else guarded
        if self.group.quota is None:
            self.offer = self.offered(head, passed_over)
        else:
            self.offer = self._within(self.group.quota - self.group.running_slots, drain_limit, head, passed_over)

    def _within(self, free: int, drain_limit: int, head: Head, passed_over: int) -> Offer | None:
        """Return what the Group would give of what its quota leaves; `head` is what it would give without one."""
        if self.width(head) > free:
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
        group = self.group
        node, slots = group.by_id[node_id], group.lanes[place].demand.slots
        return Offer(group.graph_id, node, -negative, tokens, slots, place, passed_over, is_shunned)

    @property
    def quota_left(self) -> int | None:
        """The slots that the quota leaves; None for no limit."""
        quota = self.group.quota
        return None if quota is None else quota - self.group.running_slots

    def tally(self) -> Tally:
        """Return the Group in numbers: lanes, nodes that are not in a lane, and what the quota leaves no room for."""
        self._count_up()
        group, found, free = self.group, Tally(), self.quota_left
        found.add(self._lanes, 1)
        found.ready = group.ready_count
        for kind, nodes in group.first_reasons.items():
            found.not_eligible[kind] += nodes
        if free is not None:
            for width in [width for width in found.fitting if width > free or self.is_stopped]:
                found.not_eligible["group_quota"] += found.fitting.pop(width)
        return found

    def _count_up(self) -> None:
        """Count again the lanes that were put since."""
        for place in self._uncounted:
            lane, before = self.group.lanes[place], self._as_counted.get(place)
            if before is not None:
                self._lanes.count(before[0], lane.demand.slots, -before[1])
            kind, nodes = self._as_counted[place] = self.kinds[place], len(lane)
            self._lanes.count(kind, lane.demand.slots, nodes)
        self._uncounted.clear()
