"""Whole runs by their seed, and what was seen in many of them. It must not decide anything itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from metagit_mcp.domain.events import KIND_OF
from metagit_mcp.wire.ledger_codec import state_record
from tests.fairness.bounds import Watched
from tests.fairness.checks import any_order, enters_no_tag, plan_is_claims, replayed
from tests.fairness.closed import Closed
from tests.fairness.play import Play
from tests.fairness.steps import P, Scene, Steps

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

# How often in a run everything else is looked at.
LOOKS = 8


@dataclass
class Seen:
    """The tightest ratio to each bound and its seed, and in how many runs each thing happened."""

    ratios: dict[str, tuple[Fraction, int]] = field(default_factory=dict)
    things: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    starts: int = 0
    holds: int = 0

    def add(self, other: Seen) -> None:
        for name, ratio in other.ratios.items():
            self.ratios[name] = max(self.ratios.get(name, ratio), ratio)
        self.things.update(other.things)
        self.steps += other.steps
        self.starts += other.starts
        self.holds = max(self.holds, other.holds)

    def lines(self) -> Iterable[str]:
        yield f"{self.steps} steps, {self.starts} starts"
        for name, (ratio, seed) in sorted(self.ratios.items()):
            yield f"{name}: {float(ratio):.3f} (seed {seed})"
        yield f"holds in a row while a flow was ahead: at most {self.holds}"
        yield ", ".join(f"{name} {count}" for name, count in self.things.most_common())


def run(seed: int, steps: int) -> Seen:
    """One run: half of them are wild, the others measured, each in the company of a closed setting.

    Raises:
        AssertionError: the queue and the oracle differ, or something does not hold.
    """
    random = Random(seed)  # noqa: S311 - a scene, not a secret
    scene = Scene(
        wild=seed % 2 == 0,
        pools=seed % 4 == 0,
        wide=random.random() < 0.5,
        reports=random.random() < 0.5,
    )
    return _wild(random, scene, steps) if scene.wild else _watched(random, scene, seed, steps)


def _wild(random: Random, scene: Scene, steps: int) -> Seen:
    made = Steps(random, scene, Play)
    starts = _play(made, random, steps)
    return Seen(things=things_of(made), steps=steps, starts=starts)


def _watched(random: Random, scene: Scene, seed: int, steps: int) -> Seen:
    made = Steps(random, scene, Watched)
    made.play.had_wide = scene.wide
    starts = _play(made, random, steps)
    ratios = made.play.ratios()
    ratios["I6"] = Closed(random).run(steps // 10)
    for name, ratio in ratios.items():
        assert ratio <= 1, (name, float(ratio), seed)
    kind = " (wide nodes)" if scene.wide else ""
    return Seen(
        ratios={name + kind * (name not in {"I6", "guard"}): (ratio, seed) for name, ratio in ratios.items()},
        holds=made.play.holds * scene.wide,
        things=things_of(made),
        steps=steps,
        starts=starts,
    )


def _play(made: Steps[P], random: Random, steps: int) -> int:
    play, starts, since, snapshot = made.play, 0, 0, state_record(made.play.state)
    every = max(60, steps // LOOKS)
    for number in range(1, steps + 1):
        starts += made.step() is not None
        if number % every == 0:
            replayed(play, snapshot, since)
            play.settle()
            who = random.choice(made.agents)
            plan_is_claims(play, who, random.randint(1, 6))
            any_order(play, who, random)
            enters_no_tag(play, who, random)
            since, snapshot = len(play.log), state_record(play.state)
    return starts


def things_of(made: Steps[P]) -> Counter[str]:
    """What happened in a run, each thing once."""
    play = made.play
    found = {KIND_OF[type(event)] for event in play.log}
    found |= {"a guard pick" for turns in play.book.turns.values() if turns.guards}
    return Counter(found | made.told)
