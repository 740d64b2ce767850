"""The ledger read as a history: the state that events lead to, the story of one node, and where two states differ.

Decides nothing and reads no store.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from metagit_mcp.domain.events import KIND_OF, Event, WorkStarted
from metagit_mcp.domain.evolve import evolve
from metagit_mcp.domain.feed_events import GroupEventsApplied
from metagit_mcp.domain.instant import instant_text
from metagit_mcp.domain.share_events import PoolRested
from metagit_mcp.domain.shares import ROOT
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import NodeKey
from metagit_mcp.errors import StoreCorrupt


def fold(events: Iterable[Event], state: LedgerState | None = None) -> LedgerState:
    """Return the state that events lead to, from a state (which is changed) or from nothing.

    Raises:
        StoreCorrupt: an event speaks of something that never happened.
    """
    reached = LedgerState() if state is None else state
    for event in events:
        happen(reached, event)
    return reached


def happen(state: LedgerState, event: Event) -> NodeKey | None:
    """Let one event of a ledger happen, in place, and return the node that it is about, if any.

    Raises:
        StoreCorrupt: it speaks of something that never happened.
    """
    try:
        return evolve(state, event)
    except KeyError as error:
        raise StoreCorrupt(
            f"An event {KIND_OF[type(event)]} of the ledger speaks of {error.args[0]}, which is not there.",
            hint="metagit-mcp doctor says what is wrong with it.",
        ) from None


def weight_of(event: Event) -> int:
    """Return how much it takes to fold an event: one that tells what happened to a Group counts for each fact."""
    return max(1, len(event.facts)) if isinstance(event, GroupEventsApplied) else 1


def nodes_told(event: Event) -> Iterator[NodeKey]:
    """Yield the nodes that facts of a Group are about; what is about more makes the Group another graph."""
    if isinstance(event, GroupEventsApplied):
        told = (getattr(fact, "node_id", None) for fact in event.facts)
        yield from ((event.group_id, node_id) for node_id in told if node_id is not None)


def told_by(event: Event) -> Iterator[NodeKey]:
    """Yield what else an event tells of: Groups of its pool (with no node), and nodes that came or ceased to wait.

    Whoever did not decide it has to look at them again, even where they are as they were before.
    """
    yield from nodes_told(event)
    change = event.change if isinstance(event, PoolRested) else None
    if isinstance(event, WorkStarted) and event.dispatch is not None:
        change = event.dispatch.pick
        graph_id = event.lease.graph_id
        yield from ((graph_id, node_id) for node_id in (*event.dispatch.arrived, *event.dispatch.left))
    for level in () if change is None else change.levels:
        if level.level != ROOT:
            yield from ((name, "") for name in (*level.flows, *level.gone))


def story(events: Iterable[Event], key: NodeKey, state: LedgerState | None = None) -> Iterator[str]:
    """Yield a line for each event about a node: instant, kind, whom and what it names, and the state it led to.

    The events follow `state` (which is changed), or nothing.

    Raises:
        StoreCorrupt: an event speaks of something that never happened.
    """
    reached = LedgerState() if state is None else state
    for event in events:
        if happen(reached, event) == key:
            item = reached.item(key)
            led_to = "" if item is None else f" → {item.state}"
            yield f"{instant_text(event.at)} {KIND_OF[type(event)]}{_named(event)}{led_to}"


# What a line names besides the kind: ids and numbers only, no words of agents or people.
_NAMED: Final = ("agent_id", "session_epoch", "ownership_epoch", "lease_id", "by", "status")


def _named(event: Any) -> str:  # noqa: ANN401 - any event
    told = getattr(event, "lease", event)
    return "".join(f" {name}={each}" for name in _NAMED if (each := getattr(told, name, None)) is not None)


_IN_ORDER: Final = ("/closed", "/answered")


def first_difference(one: LedgerState, other: LedgerState) -> str | None:
    """Return where two states differ first, as a path and both values; None: they are the same.

    The order of what is forgotten after a while counts: the oldest goes first.
    """
    return _difference("", one, other)


def _difference(path: str, one: Any, other: Any) -> str | None:  # noqa: ANN401 - any part of a state
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        keys = [list(each) if path in _IN_ORDER else sorted(each) for each in (one, other)]
        if keys[0] != keys[1]:
            return _unlike(f"{path}/", *keys)
        parts = [(f"{path}/{_shown(key)}", one[key], other[key]) for key in one]
    elif is_dataclass(one) and type(one) is type(other):
        names = [each.name for each in fields(one)]
        parts = [(f"{path}/{name}", getattr(one, name), getattr(other, name)) for name in names]
    else:
        return None if one == other else f"{path}: {one!r} and {other!r}"
    return next((found for part in parts if (found := _difference(*part))), None)


def _shown(key: Any) -> str:  # noqa: ANN401 - any key
    return ".".join(key) if isinstance(key, tuple) else str(key)


def _unlike(path: str, one: list[Any], other: list[Any]) -> str:
    """Name the first key that only one has, or that stands elsewhere."""
    at = next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )
    left, right = (_shown(keys[at]) if at < len(keys) else "nothing" for keys in (one, other))
    return f"{path}: {left} and {right}"
