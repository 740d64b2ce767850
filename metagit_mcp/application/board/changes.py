"""By what a look at the board is known to be other than the one before, without making it. Decides nothing."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from metagit_mcp.application.board.reasons import Look
from metagit_mcp.application.caller import Caller
from metagit_mcp.application.needs_person import pauses_about
from metagit_mcp.application.own_version import digest
from metagit_mcp.domain.decision import LoggedDecision
from metagit_mcp.domain.value import value
from metagit_mcp.ports.machine import Clock
from metagit_mcp.scheduling.cycle import census
from metagit_mcp.wire.board_answers import BoardAnswer

# Who looks, with what it brings, and at which Group alone.
Reader = tuple[str, frozenset[str] | None, str | None]
# And how much of each list and of the decisions it asks for.
Question = tuple[Reader, int, int]
_FRESH_MS: Final = 400
_READERS_KEPT: Final = 256
_ANSWERS_KEPT: Final = 16


@value
class Sight:
    """What is compared: `shown` is all but signs of life, which come with every renewal and figure of use."""

    at: datetime = datetime.min.replace(tzinfo=UTC)
    state_version: str = ""
    shown: tuple[object, ...] = ()
    signs: tuple[object, ...] = ()


class Sights:
    """The newest sight of each kind of reader, and what was answered: who looks at about the same time shares them."""

    def __init__(self, clock: Clock) -> None:
        """Have seen nothing yet."""
        self._clock = clock
        self._seen: dict[Reader, tuple[int, Sight]] = {}
        self._answered: dict[Question, tuple[int, Sight, BoardAnswer]] = {}

    def fresh(self, reader: Reader) -> Sight | None:
        """Return what was seen a moment ago, if anything was."""
        if reader not in self._seen:
            return None
        at_ms, sight = self._seen[reader]
        return sight if self._is_fresh(at_ms) else None

    def _is_fresh(self, at_ms: int) -> bool:
        return 0 <= self._clock.instant().ticks_ms - at_ms < _FRESH_MS

    def keep(self, reader: Reader, sight: Sight) -> None:
        """Keep what was seen just now."""
        if len(self._seen) >= _READERS_KEPT:
            self._seen.clear()
        self._seen[reader] = (self._clock.instant().ticks_ms, sight)

    def answer(self, question: Question, sight: Sight) -> BoardAnswer | None:
        """Return what was answered a moment ago, if all was then as it is seen now."""
        if question not in self._answered:
            return None
        at_ms, seen, answer = self._answered[question]
        is_same = (seen.shown, seen.signs) == (sight.shown, sight.signs)
        return answer if is_same and self._is_fresh(at_ms) else None

    def keep_answer(self, question: Question, sight: Sight, answer: BoardAnswer) -> None:
        """Keep what was answered just now."""
        if len(self._answered) >= _ANSWERS_KEPT:
            self._answered.clear()
        self._answered[question] = (self._clock.instant().ticks_ms, sight, answer)


def sight_of(look: Look, recent: Sequence[LoggedDecision]) -> Sight:
    """Return by what a look is known. Time alone changes it too, by the numbers of nodes that may start."""
    view, work = look.view, look.view.work
    shown = (
        _version(look),
        census(view.queue, look.asker, look.alone),
        tuple(pauses_about(view, look.asker, look.alone)),
        tuple(name for name, each in work.closures.items() if each.until > view.now and look.alone is None),
        tuple(row.decision_id for row in recent),
    )
    leases = (each for each in work.leases.values() if look.alone in {None, each.graph_id})
    signs = tuple((each.lease_id, each.renewal_count, each.usage) for each in leases)
    return Sight(at=view.now, state_version=view.state_version, shown=shown, signs=signs)


def version_told(caller: Caller, sight: Sight) -> str:
    """Return the version that a caller is told; a coordinator's says nothing of other Groups."""
    return digest(repr(sight.shown).encode()) if caller.role == "coordinator" else sight.state_version


def _version(look: Look) -> object:
    """Return the version of the workspace; of one Group alone what is known of its own nodes."""
    if look.alone is None:
        return look.view.state_version
    group = look.view.queue.groups[look.alone]
    return group.loaded.digest, look.view.policy.groups.get(look.alone), tuple(group.rules.items.values())
