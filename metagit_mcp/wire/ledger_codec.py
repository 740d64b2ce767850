"""Events and whole states of the ledger as JSON, and back. Knows no rule and no store.

Each kind of event has a version; an older one is brought up to date by its upcaster when it is read. A state is two
lines of JSON, the second for what there may be much of: all items, and the contracts of Groups that are fed by Events,
as tables (ADR 0046). In version 1 they stood one by one in the one line.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from metagit_mcp.domain.events import EVENT_KINDS, KIND_OF, Event
from metagit_mcp.domain.feeds import Contract
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import WorkItem
from metagit_mcp.errors import StoreCorrupt, StoreTooNew
from metagit_mcp.wire.codec import (
    Json,
    adapter,
    compact,
    first_problem,
    line,
    parse_json,
    parse_own_json,
    refusal,
    validated,
)
from metagit_mcp.wire.tables import misread_at, read_groups, table_of_groups

EVENT_VERSION: Final = 1
STATE_VERSION: Final = 2
# (kind, version) → what the JSON of the next version is. Empty until an event changes its shape.
UPCASTERS: Final[Mapping[tuple[str, int], Callable[[Json], Json]]] = {}


def event_record(event: Event) -> tuple[str, int, bytes]:
    """Return an event as it is kept: its kind, its version and its JSON."""
    return KIND_OF[type(event)], EVENT_VERSION, line(event)


def read_event(kind: str, version: int, body: bytes) -> Event:
    """Return the event that was kept.

    Raises:
        StoreTooNew: a newer version wrote it.
        StoreCorrupt: it is none of ours.
    """
    shape = EVENT_KINDS.get(kind)
    if shape is None or version > EVENT_VERSION:
        raise StoreTooNew(
            f"The ledger has an event {kind} of version {version}, which this version does not know.",
            hint="Use the newest metagit-mcp that works on this workspace.",
        )
    try:
        if version < EVENT_VERSION:
            return adapter(shape).validate_python(_upcast(kind, version, cast("Json", parse_json(body))))
        return validated(shape, body)
    except (ValueError, KeyError) as error:
        where = first_problem(error)[0] if isinstance(error, refusal()) else f"version {version}"
        raise StoreCorrupt(f"An event {kind} of the ledger cannot be read: {where}.", hint=_HINT) from None


_HINT: Final = "metagit-mcp doctor says what is wrong with it."


def _upcast(kind: str, version: int, record: Json) -> Json:
    for older in range(version, EVENT_VERSION):
        record = UPCASTERS[kind, older](record)
    return record


# --- states ---------------------------------------------------------------------------------------------------------

_ONE_LINE: Final = 1
_READABLE: Final = (_ONE_LINE, STATE_VERSION)
# What follows from the items, and what stands in tables.
_NOT_IN_LINE: Final[Any] = {"terms": True, "items": True, "feeds": {"__all__": {"nodes"}}}


def state_record(state: LedgerState) -> bytes:
    """Return a whole state as it is kept; what follows from the rest is left out."""
    first = adapter(LedgerState).dump_json(state, exclude=_NOT_IN_LINE, exclude_defaults=True)
    nodes = {group_id: feed.nodes for group_id, feed in state.feeds.items() if feed.nodes}
    tables: Json = {}
    if state.items:
        tables["items"] = table_of_groups(WorkItem, state.items, "graph_id")
    if nodes:
        tables["nodes"] = table_of_groups(Contract, nodes)
    # Also where there is nothing in it: a text that lost its end must not read as one of less work.
    return first + b"\n" + compact(tables)


def read_state(version: int, body: bytes) -> LedgerState | None:
    """Return the state that was kept, or None when its form is not known: it is then folded anew.

    Raises:
        StoreCorrupt: it cannot be read.
    """
    if version not in _READABLE:
        return None
    first, _, second = (body, b"", b"") if version == _ONE_LINE else body.partition(b"\n")
    try:
        state = validated(LedgerState, first)
        if version != _ONE_LINE:
            _fill(state, second)
    except ValueError as error:
        where = first_problem(error)[0] if isinstance(error, refusal()) else str(error)
        raise StoreCorrupt(f"A snapshot of the ledger cannot be read: {where}.", hint=_HINT) from None
    for items in state.items.values():
        state.terms.update({item.key: item.until for item in items.values() if item.until is not None})
    return state


def _fill(state: LedgerState, second: bytes) -> None:
    """Put into a state what its second line says; that has at most as many rows as bytes."""
    if not second:
        raise ValueError("its end is missing")
    tables: Any = parse_own_json(second)
    most = len(second)
    with misread_at("items"):
        for name, items in read_groups(WorkItem, tables.get("items"), most, "graph_id"):
            state.items[name] = {item.node_id: item for item in items}
    with misread_at("nodes"):
        for name, nodes in read_groups(Contract, tables.get("nodes"), most):
            state.feeds[name].nodes.update({node.node_id: node for node in nodes})
