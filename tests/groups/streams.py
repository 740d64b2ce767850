"""Draws the valid log of one Group, and ways to deliver it. Every choice comes from Hypothesis, or from a seed.

It must not know the oracle, nor import any part of the package.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hypothesis import strategies as st

from tests.groups import commands
from tests.groups.authority import EXTENSION, UNFINISHED, Authority, Item, Lots, pick
from tests.groups.envelopes import GATEWAY, Json, usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MOST_ITEMS = 9
NOISE = (
    "message.posted",
    "artifact.published",
    "work.proposed",
    "mission.changes_requested",
    "mission.coordinator.renewed",
    "membership.delegation.granted",
    "message.corrected",
    "policy.cooperation_override.granted",
    "ext.acme.telemetry.heartbeat_seen",
)
# Mostly short: a long one ends most leases.
WAITS = (*(0, 1, 5, 0, 1, 30) * 5, 300, 900, 4_000)
Order = Literal["in order", "reversed", "shuffled", "duplicated"]


@dataclass(frozen=True)
class Stream:
    """A log, and what the authority says holds after each of its Events."""

    group_id: str
    events: list[Json]
    said: list[Json]
    rows: dict[str, int]


@dataclass(frozen=True)
class Choice:
    """A Command, how often it is chosen among those allowed, and on what it is allowed now."""

    often: int
    carry_out: Callable[[Authority, Any], object]
    targets: Callable[[Authority], Sequence[Any]]


# --- on what each Command is allowed -----------------------------------------------------------------------------


def _may_be_authorized(group: Authority) -> list[str]:
    going = [name for name, state in group.missions.items() if state == "active"]
    return going if len(group.items) < MOST_ITEMS else []


def _may_depend(group: Authority) -> list[tuple[Item, str]]:
    return [
        (item, need.work_id)
        for item in group.of_state("open", "offered", "queued", "blocked")
        for need in group.items.values()
        if need.mission == item.mission
        and need.work_id not in item.needs
        and not group.reaches(need.work_id, item.work_id)
    ]


def _may_be_offered(group: Authority) -> list[Item]:
    free = group.of_state("open", "offered", "queued", "active", "blocked", "failed")
    anybody = any(group.present(name) for name in group.seats)
    return [item for item in free if anybody and not group.owned(item)]


def _may_accept(group: Authority) -> list[tuple[Item, str]]:
    return [
        (item, name)
        for item in group.of_state("offered")
        if item.offered_until > group.now
        for name in item.candidates
        if group.present(name)
    ]


def _may_be_approved(group: Authority) -> list[Item]:
    return [item for item in group.of_state("queued") if item.gated and group.owned(item) and len(item.approvals) < 4]


def _may_start(group: Authority) -> list[Item]:
    return [
        item
        for item in group.of_state("queued")
        if group.owned(item)
        and group.present(item.owner)
        and all(group.items[need].state == "verified" for need in item.needs)
        and (not item.gated or (group.approved_until(item) or group.now) > group.now)
    ]


def _may_end_mission(group: Authority) -> list[str]:
    """A Mission is not ended before something came of it."""
    return [name for name, state in group.missions.items() if state == "active" and len(group.log) > 40]


def _with_child(group: Authority) -> list[Item]:
    return [item for item in group.of_state("blocked") if item.child_runs]


def _strangers(group: Authority) -> list[str]:
    return [name for name in commands.AGENTS if not group.present(name)]


def _record_usage(group: Authority, item: Item) -> None:
    assert item.lease is not None
    remaining = usage(
        tokens=item.tokens and group.lots.number(0, item.tokens), calls=item.calls and group.lots.number(0, item.calls)
    )
    item.left = {name: left for name, left in remaining.items() if left is not None}
    payload = {
        "cumulativeUsage": usage(tokens=1, calls=0),
        "executionLeaseId": item.lease.lease_id,
        "ownershipEpoch": item.epoch,
        "remainingBudget": remaining,
        "workItemId": item.work_id,
    }
    group.tell(f"{EXTENSION}resource_usage_recorded", payload, GATEWAY, item.work_id)


CHOICES: dict[str, Choice] = {
    "authorize": Choice(8, commands.authorize, _may_be_authorized),
    "offer": Choice(6, commands.offer, _may_be_offered),
    "accept": Choice(10, commands.accept, _may_accept),
    "start": Choice(20, commands.start, _may_start),
    "submit": Choice(4, commands.submit, Authority.working),
    "accept result": Choice(2, commands.accept_result, lambda group: group.of_state("submitted")),
    "approve": Choice(5, commands.approve, _may_be_approved),
    "checkpoint": Choice(3, commands.checkpoint, Authority.working),
    "block": Choice(4, commands.block, Authority.working),
    "unblock": Choice(
        2, commands.unblock, lambda group: [item for item in group.of_state("blocked") if item.child is None]
    ),
    "renew": Choice(2, commands.renew, Authority.working),
    "record usage": Choice(2, _record_usage, Authority.working),
    "add dependency": Choice(1, commands.add_dependency, _may_depend),
    "fail": Choice(2, commands.lose, lambda group: group.of_state(*UNFINISHED)),
    "cancel": Choice(1, commands.cancel, lambda group: group.of_state(*UNFINISHED)),
    "create child": Choice(
        2,
        commands.create_child,
        lambda group: [item for item in group.of_state(*UNFINISHED[:5]) if item.child is None],
    ),
    "child approved": Choice(
        2, commands.approve_child, lambda group: [item for item in _with_child(group) if item.owner is None]
    ),
    "child blocks": Choice(1, commands.block_by_child, _with_child),
    "child fails": Choice(1, commands.lose_by_child, _with_child),
    "open session": Choice(
        2,
        commands.open_session,
        lambda group: sorted({item.owner for item in group.of_state("active") if item.owner is not None}),
    ),
    "join": Choice(2, commands.join, _strangers),
    "leave": Choice(1, commands.leave, lambda group: [name for name in group.seats if group.present(name)]),
    "replace coordinator": Choice(1, commands.replace_coordinator, lambda _: [""]),
    "cancel mission": Choice(1, commands.cancel_mission, _may_end_mission),
    "terminate mission": Choice(1, commands.terminate_mission, _may_end_mission),
    "noise": Choice(1, commands.make_noise, lambda _: NOISE),
}


# --- a log -------------------------------------------------------------------------------------------------------


def step(group: Authority) -> None:
    """Let some time pass, then carry out one Command that is allowed."""
    group.wait(pick(group.lots, WAITS))
    group.acts += 1
    allowed = {name: targets for name, choice in CHOICES.items() if (targets := choice.targets(group))}
    name = pick(group.lots, [name for name in allowed for _ in range(CHOICES[name].often)])
    target = pick(group.lots, allowed[name])
    item = target[0] if isinstance(target, tuple) else target
    group.rows[f"{name} from {item.state}" if isinstance(item, Item) else name] += 1
    CHOICES[name].carry_out(group, target)


def log_of(lots: Lots, group_id: str = "group:cli", least: int = 0, most: int = 90) -> Stream:
    """Draw one log of `least` to `most` Commands."""
    group = Authority(lots, group_id)
    commands.open_group(group)
    for _ in range(lots.number(least, most)):
        step(group)
    if lots.number(0, 3) == 1:
        group.rows["archive"] += 1
        commands.archive(group)
    return Stream(group_id, group.log, group.said, dict(group.rows))


class SeededLots:
    """Choices that follow from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a seeded draw, nothing secret

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


class DrawnLots:
    """Choices of Hypothesis, which it makes simpler where a test fails."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def number(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))


@st.composite
def streams(draw: st.DrawFn, group_id: str = "group:cli", most: int = 90) -> Stream:
    """A valid log of one Group."""
    return log_of(DrawnLots(draw), group_id, most=most)


# --- its delivery ------------------------------------------------------------------------------------------------


def ordered(events: Sequence[Json], order: Order, chance: random.Random) -> list[Json]:
    """The Events as they arrive: each at least once."""
    arriving = list(events)
    if order == "reversed":
        arriving.reverse()
    elif order != "in order":
        if order == "duplicated":
            arriving += chance.choices(events, k=len(events) // 2) if events else []
        chance.shuffle(arriving)
    return arriving


def batches(events: Iterable[Json], sizes: Iterable[int]) -> list[list[Json]]:
    """The Events in calls of these sizes, one after the other; the last size stays."""
    left, made, size = list(events), [], 1
    following = iter(sizes)
    while left:
        size = next(following, size)
        made.append(left[:size])
        left = left[size:]
    return made


@st.composite
def deliveries(draw: st.DrawFn, events: Sequence[Json]) -> list[list[Json]]:
    """The Events in any order, some more than once, in calls of any size."""
    order: Order = draw(st.sampled_from(("in order", "reversed", "shuffled", "duplicated")))
    chance = draw(st.randoms(use_true_random=False))
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=8))
    return batches(ordered(events, order, chance), sizes)
