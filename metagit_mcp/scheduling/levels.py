"""One level of a pool as it is now: which flows are eligible, and with which tags (scheduling.md §3 rules 1 to 3).

What the ledger says is as of the pool's last start; what became or ceased to be eligible since is worked out here, and
told by the next start. Knows no node.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from metagit_mcp.domain.charging import retagged
from metagit_mcp.domain.shares import LCM, FlowTag, Level, LevelChange
from metagit_mcp.scheduling.flows import Flows, Key

_NONE: Final = Level()
_NEW: Final = FlowTag(tag=0, weight=1)
NOBODY: Final[Mapping[str, int]] = {}


class LevelNow:
    """The flows of one level, eligible ones by tag and key, and what a start will have to tell of them.

    `enters_behind`: a flow that was never charged enters one unit behind V (Groups do, classes do not). `is_small`: it
    looks at all its flows whenever the ledger knows something new of it, and need not be told which were touched.
    """

    __slots__ = (
        "_enters_behind",
        "_is_idle",
        "_is_running",
        "_is_small",
        "_known",
        "_name",
        "_now",
        "_untold",
        "flows",
    )

    def __init__(
        self,
        name: str,
        window: int,
        known: Level | None,
        *,
        enters_behind: bool,
        is_running: Callable[[], bool],
        is_small: bool = False,
    ) -> None:
        """Know the flows that the ledger knows, and none that is eligible now.

        `is_running` says whether anything of the level runs, which counts only where nothing was eligible.
        """
        self._name = name
        self._known = known or _NONE
        self._enters_behind = enters_behind
        self._is_small = is_small
        self.flows = Flows(window)
        # Of the eligible flows: weight, key, and whether the flow comes from another level.
        self._now: dict[str, tuple[int, Key, bool]] = {}
        self._untold = {name for name, flow in self._known.flows.items() if flow.eligible}
        self._is_running = is_running
        # Whether nothing was eligible or runs; None: no tag of an eligible flow depends on it.
        self._is_idle: bool | None = None

    def follow(self, known: Level | None) -> bool:
        """Take over what the ledger says of the level; say whether it is something new.

        Of a level that is not small, flows that were touched by what happened are `put` again by who knows them.
        """
        known = known or _NONE
        is_same, was_idle = known is self._known, self._is_idle
        if is_same and (known.eligible or was_idle is None):
            return False
        self._known, self._is_idle = known, None
        is_alike = was_idle is None or self._is_idle_now() == was_idle
        if is_same and is_alike:
            return False
        anew = set(self._untold) if is_alike else self._untold | self._now.keys()
        if self._is_small:
            anew |= self._now.keys() | known.flows.keys()
        for name in anew:
            weight, key, is_moved = self._now.get(name, (None, None, False))
            self.put(name, weight, key, is_moved=is_moved)
        return True

    def saved(self) -> Callable[[], None]:
        """Return what brings the level back to where it is now."""
        kept = (self._known, self.flows.copy(), dict(self._now), set(self._untold), self._is_idle)

        def restore() -> None:
            self._known, self.flows, self._now, self._untold, self._is_idle = kept

        return restore

    def go_to(self, known: Level | None) -> None:
        """Go on with a branch of the level, which says the same."""
        self._known = known or _NONE

    @property
    def virtual(self) -> int:
        """V as it is before the next start: where nothing was eligible or running, as far as any tag ever given."""
        return max(self._known.virtual, self._known.top) if self._is_idle_now() else self._known.virtual

    def _is_idle_now(self) -> bool:
        if self._is_idle is not None:
            return self._is_idle
        is_idle = not (self._known.eligible or self._is_running())
        self._is_idle = is_idle if self._now else None
        return is_idle

    def put(self, name: str, weight: int | None, key: Key = None, *, is_moved: bool = False) -> None:
        """Say that a flow is eligible now, with its weight and key, or (no weight) that it is not.

        `is_moved`: it was charged in another level before.
        """
        known = self._known.flows.get(name)
        if weight is None:
            self._now.pop(name, None)
            self._is_idle = self._is_idle if self._now else None
            self.flows.remove(name)
            is_news = known is not None and known.eligible
        else:
            self._now[name] = (weight, key, is_moved)
            self.flows.put(name, self.tag_for(name, weight, is_moved=is_moved), key)
            is_news = known is None or not known.eligible or known.weight != weight
        (self._untold.add if is_news else self._untold.discard)(name)

    def tag_for(self, name: str, weight: int, *, is_moved: bool = False) -> int:
        """Return the tag that a flow has as an eligible one."""
        known = self._known.flows.get(name)
        if known is None or not (known.eligible or known.charged):
            behind = LCM // weight if self._enters_behind and not is_moved else 0
            return self.virtual + behind
        tag = retagged(known.tag, self._known.virtual, known.weight, weight)
        return tag if known.eligible else max(self.virtual, tag)

    def is_told(self) -> bool:
        """Say whether a start has nothing to tell of the level."""
        return not self._untold

    def change(
        self,
        charged: str | None = None,
        cost: int = 0,
        gone: tuple[str, ...] = (),
        entered: Mapping[str, int] = NOBODY,
    ) -> LevelChange:
        """Return how a start leaves the level, which charges one of its flows or none.

        `entered` are flows that came from another level, with their weights, and are not eligible.
        """
        # Where nothing was eligible before, all that is untold arrives.
        virtual = self.virtual if self._untold else self._known.virtual
        flows = dict(self._news())
        for name, weight in entered.items():
            flows[name] = FlowTag(tag=virtual, weight=weight, charged=True)
        if charged is not None:
            weight, _, _ = self._now[charged]
            virtual = max(virtual, self.flows.least)
            tag = self.flows.tag(charged) + cost * LCM // weight
            flows[charged] = FlowTag(tag=tag, weight=weight, eligible=True, charged=True)
        return LevelChange(level=self._name, virtual=virtual, flows=flows, gone=gone)

    def _news(self) -> Iterator[tuple[str, FlowTag]]:
        for name in sorted(self._untold):
            known, now = self._known.flows.get(name, _NEW), self._now.get(name)
            if now is not None:
                was_charged = known.charged or now[2]
                tag = FlowTag(tag=self.flows.tag(name), weight=now[0], eligible=True, charged=was_charged)
                yield name, tag
            else:
                yield name, replace(known, eligible=False)
