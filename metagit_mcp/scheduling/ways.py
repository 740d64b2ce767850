"""What a node waits for in its own Group before it may start: the longest way there, and the shortest.

The ends are each by itself: the way with the most nodes need not be the one with the most seconds.
"""

from collections.abc import Callable, Iterator
from typing import Final, Literal

from metagit_mcp.domain.graph import ancestors_heard
from metagit_mcp.domain.tasks import FINISHED_STATUSES, TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.eligibility import GroupRules

# Why no start window can be given.
Unknown = Literal["finished", "paused", "needs_person", "with_group", "never_fits", "no_slot_limit", "no_shares"]


@value
class Way:
    """From now to the instant at which a node is ready, in seconds.

    `steps` are the most nodes that must start one after another before it, and `runs` the most time that such nodes are
    worked on; `has_run`: one of them runs already. `soonest` is the least time, `deferred` until when some node waits
    whatever happens. `unknown` says why nobody can tell.
    """

    steps: int = 0
    runs: int = 0
    has_run: bool = False
    soonest: int = 0
    deferred: int = 0
    unknown: Unknown | None = None


_AT_ONCE: Final = Way()


@value
class Course:
    """How a node is judged by itself: why nobody can tell, until when it waits, and how long it is worked on yet."""

    unknown: Unknown | None
    deferred: int
    most: int
    least: int
    runs: bool


class Ways:
    """The ways to the nodes of one Group, each worked out once."""

    def __init__(self, rules: GroupRules, course_of: Callable[[TaskNode], Course]) -> None:
        """Work out none yet."""
        self._rules, self._course_of = rules, course_of
        self._known: dict[str, tuple[Way, Way]] = {}

    def to(self, node: TaskNode) -> Way:
        """Return the way to an unfinished node."""
        walk = [(node, False)]
        while walk:
            at, is_back = walk.pop()
            if is_back:
                self._known[at.node_id] = self._ends(at)
            elif at.node_id not in self._known:
                # Whatever is met again on the way to it goes in a circle, and is judged so by itself.
                self._known[at.node_id] = (_AT_ONCE, _AT_ONCE)
                walk.append((at, True))
                walk += [(need, False) for need in self._needs(at)]
        return self._known[node.node_id][0]

    def past(self, node: TaskNode) -> Way:
        """Return the way to the end of an unfinished node."""
        self.to(node)
        return self._known[node.node_id][1]

    def _ends(self, node: TaskNode) -> tuple[Way, Way]:
        course = self._course_of(node)
        way = self._way(node, course)
        past = Way(
            steps=way.steps + (not course.runs),
            runs=way.runs + course.most,
            has_run=way.has_run or course.runs,
            soonest=way.soonest + course.least,
            deferred=way.deferred,
            unknown=way.unknown,
        )
        return way, past

    def _way(self, node: TaskNode, course: Course) -> Way:
        passed = () if course.runs else [self._known[need.node_id][1] for need in self._needs(node)]
        if not passed:
            return Way(soonest=course.deferred, deferred=course.deferred, unknown=course.unknown)
        return Way(
            steps=max(each.steps for each in passed),
            runs=max(each.runs for each in passed),
            has_run=any(each.has_run for each in passed),
            soonest=max(course.deferred, *(each.soonest for each in passed)),
            deferred=max(course.deferred, *(each.deferred for each in passed)),
            unknown=course.unknown or next((each.unknown for each in passed if each.unknown), None),
        )

    def _needs(self, node: TaskNode) -> Iterator[TaskNode]:
        """Yield what is unfinished of all that it waits for, its parents' dependencies among it."""
        shape = self._rules.shape
        names = [*node.depends_on, *shape.children.get(node.node_id, ())]
        for parent in parents_of(self._rules, node):
            names += parent.depends_on
        for name in dict.fromkeys(names):
            need = shape.by_id.get(name)
            if need is not None and need is not node and need.status not in FINISHED_STATUSES:
                yield need


def parents_of(rules: GroupRules, node: TaskNode) -> Iterator[TaskNode]:
    """Yield the unfinished parents, and theirs, that may make the node wait."""
    for name in ancestors_heard(rules.shape, node):
        parent = rules.shape.by_id.get(name)
        if parent is not None and parent.status not in FINISHED_STATUSES:
            yield parent
