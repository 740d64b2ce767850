"""Events and whole states of the ledger as JSON, and back. Knows no rule and no store.

Each kind of event has a version; an older one is brought up to date by its upcaster when it is read.
"""

from collections.abc import Callable, Mapping
from typing import Final, cast

from metagit_mcp.domain.events import EVENT_KINDS, KIND_OF, Event
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.errors import StoreCorrupt, StoreTooNew
from metagit_mcp.wire.codec import Json, adapter, first_problem, line, parse_json, refusal, validated

EVENT_VERSION: Final = 1
STATE_VERSION: Final = 1
# (kind, version) → what the JSON of the next version is. Empty until an event changes its shape.
UPCASTERS: Final[Mapping[tuple[str, int], Callable[[Json], Json]]] = {}
# Follows from the items.
_DERIVED: Final = "terms"


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


def state_record(state: LedgerState) -> bytes:
    """Return a whole state as JSON; what follows from the rest is left out."""
    return adapter(LedgerState).dump_json(state, exclude={_DERIVED}, exclude_defaults=True)


def read_state(version: int, body: bytes) -> LedgerState | None:
    """Return the state that was kept, or None when it was kept in another form: it is then folded anew.

    Raises:
        StoreCorrupt: it cannot be read.
    """
    if version != STATE_VERSION:
        return None
    try:
        state = validated(LedgerState, body)
    except refusal() as error:
        raise StoreCorrupt(f"A snapshot of the ledger cannot be read: {first_problem(error)[0]}.", hint=_HINT) from None
    for items in state.items.values():
        state.terms.update({item.key: item.until for item in items.values() if item.until is not None})
    return state
