"""Nodes in numbers: what may be started, what is ready, and what stands against the rest. Knows no node by name."""

from collections import defaultdict
from collections.abc import Mapping

from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.eligibility import ReasonKind
from metagit_mcp.scheduling.situation import AgentSlots, Situation


@value
class Census:
    """How many nodes the asker may start, how many are ready, and how many are not eligible for which reason.

    `not_eligible` counts each node once, under its first reason.
    """

    runnable: int
    ready: int
    not_eligible: Mapping[ReasonKind, int]


class Tally:
    """Nodes in numbers, which can be added up: ready ones, those kept out by reason, and what may start by its width.

    Whether a slot is free decides only when somebody asks: `fitting` counts by slots what nothing else keeps out.
    """

    __slots__ = ("fitting", "not_eligible", "ready")

    def __init__(self) -> None:
        """Count nothing yet."""
        self.ready = 0
        # A `Counter` takes four times as long to make, and two are made for each Group that changed.
        self.not_eligible: dict[ReasonKind, int] = defaultdict(int)
        self.fitting: dict[int, int] = defaultdict(int)

    def add(self, other: "Tally", sign: int) -> None:
        """Add another tally, or take it off again."""
        self.ready += sign * other.ready
        for kind, nodes in other.not_eligible.items():
            self.not_eligible[kind] += sign * nodes
        for width, nodes in other.fitting.items():
            self.fitting[width] += sign * nodes

    def count(self, kind: ReasonKind | None, width: int, nodes: int) -> None:
        """Count the nodes of a lane: as kept out by a reason, or, without one, as those that only need slots."""
        if kind is None:
            self.fitting[width] += nodes
        else:
            self.not_eligible[kind] += nodes

    def census(self, situation: Situation, agent_slots: AgentSlots | None, reserved: int) -> Census:
        """Return the census at this moment: the asker's own slots first, then those of the workspace.

        `reserved` is how many nodes would fit in if no slots were kept for another one.
        """
        not_eligible = dict(self.not_eligible)
        runnable = sum(self.fitting.values())
        if agent_slots is not None and agent_slots.is_full:
            not_eligible["agent_slots"], runnable = runnable, 0
        elif situation.slots is not None:
            free = situation.slots - situation.running
            without = sum(nodes for width, nodes in self.fitting.items() if width > free)
            not_eligible["reserved"], not_eligible["no_slot"] = reserved, without
            runnable -= without + reserved
        counted = {kind: nodes for kind, nodes in not_eligible.items() if nodes > 0}
        return Census(runnable=runnable, ready=self.ready, not_eligible=counted)
