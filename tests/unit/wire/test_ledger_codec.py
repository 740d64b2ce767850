"""Every event and every state comes back as it was kept, and what is kept today can be read for good.

`tests/golden/ledger_events.jsonl` is a ledger as this version wrote it. Its lines are never changed: an event that
gets another shape gets a new version, an upcaster, and lines of its own. `ledger_state.jsonl` is the state to which it
leads as version 1 wrote that, `ledger_state_2.jsonl` as it is written now.
"""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagit_mcp.domain.events import EVENT_KINDS, KIND_OF, Event, WorkReleased
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.replay import first_difference, fold
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import WorkItem
from metagit_mcp.errors import StoreCorrupt, StoreTooNew
from metagit_mcp.wire import codec, ledger_codec
from metagit_mcp.wire.codec import Json, compact, parse_json
from metagit_mcp.wire.ledger_codec import STATE_VERSION, event_record, read_event, read_state, state_record

GOLDEN = Path(__file__).parents[2] / "golden"
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
INSTANTS = st.datetimes(timezones=st.just(UTC))
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(),
    int: st.integers(0, 10**9),
    bool: st.booleans(),
    type(None): st.none(),
    datetime: st.one_of(
        INSTANTS, st.sampled_from([datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
    ),
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - any annotation
    """Values of an annotation, whatever the events are made of."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if origin is Annotated:
        return values_of(inner[0])
    if origin in {Union, types.UnionType}:
        return st.one_of(*map(values_of, inner))
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is tuple:
        return st.lists(values_of(inner[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(values_of(inner[0]), values_of(inner[1]), max_size=3)
    assert isinstance(hint, type), hint
    assert is_dataclass(hint), hint
    hints = get_type_hints(hint, include_extras=True)
    return st.builds(hint, **{each.name: values_of(hints[each.name]) for each in fields(hint)})


def golden(name: str) -> list[bytes]:
    return (GOLDEN / name).read_bytes().splitlines()


def golden_events() -> list[Event]:
    return [event_of(line) for line in golden("ledger_events.jsonl")]


def event_of(line: bytes) -> Event:
    record = parse_json(line)
    assert isinstance(record, dict)
    return read_event(record["kind"], record["version"], compact(record["event"]))


def line_of(event: Event) -> bytes:
    kind, version, body = event_record(event)
    return b'{"kind":"%s","version":%d,"event":%s}' % (kind.encode(), version, body)


# --- events ---


@pytest.mark.parametrize("shape", EVENT_KINDS.values(), ids=EVENT_KINDS)
def test_any_event_comes_back(shape: type[Event]) -> None:
    @settings(max_examples=settings().max_examples // 5)
    @given(values_of(shape))
    def comes_back(event: Event) -> None:
        kind, version, body = event_record(event)
        assert (read_event(kind, version, body), kind, b"\n" in body) == (event, KIND_OF[shape], False)

    comes_back()


def test_an_absent_field_is_not_kept() -> None:
    event = WorkReleased(at=AT, lease_id="L")
    kept = b'{"at":"2026-03-01T12:00:00Z","lease_id":"L","note":"","connection_ended":false}'
    assert event_record(event) == ("work_released", 1, kept)
    assert read_event("work_released", 1, b'{"at":"2026-03-01T12:00:00Z","lease_id":"L","since":"later"}') == event


@pytest.mark.parametrize(("kind", "version"), [("work_teleported", 1), ("work_released", 2)])
def test_an_event_of_a_newer_version_is_not_guessed_at(kind: str, version: int) -> None:
    with pytest.raises(StoreTooNew, match=f"an event {kind} of version {version}"):
        read_event(kind, version, b"{}")


@pytest.mark.parametrize(
    ("version", "body", "where"),
    [
        (1, b"{", ""),
        (1, b"{}", "at"),
        (1, b"[]", ""),
        (1, b'{"at":"soon","lease_id":"L"}', "at"),
        (1, b'{"at":"2026-03-01T12:00:00Z","lease_id":7}', "lease_id"),
        (0, b'{"at":"2026-03-01T12:00:00Z","lease_id":"L"}', "version 0"),
        (0, b"{", "version 0"),
        (-1, b"{}", "version -1"),
    ],
)
def test_an_event_that_cannot_be_read_is_named(version: int, body: bytes, where: str) -> None:
    with pytest.raises(StoreCorrupt) as caught:
        read_event("work_released", version, body)
    assert caught.value.message == f"An event work_released of the ledger cannot be read: {where}."


@pytest.mark.parametrize(
    ("fact", "where"),
    [
        (b'"kind":"teleported"', "facts/0"),
        (b'"kind":7', "facts/0"),
        (b'"node_id":"n"', "facts/0"),
        (b'"kind":"submitted"', "facts/0/submitted/node_id"),
    ],
)
def test_a_fact_is_read_as_its_kind_says_and_as_no_other(fact: bytes, where: str) -> None:
    at = b'"at":"2026-03-01T12:00:00Z"'
    body = b'{%b,"group_id":"g","cursor":1,"facts":[{"sequence":1,%b,%b}]}' % (at, at, fact)
    with pytest.raises(StoreCorrupt) as caught:
        read_event("group_events_applied", 1, body)
    assert caught.value.message == f"An event group_events_applied of the ledger cannot be read: {where}."


def test_an_older_event_is_brought_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    def renamed(record: Json) -> Json:
        return {"at": record["at"], "lease_id": record["lease"]}

    def noted(record: Json) -> Json:
        return {**record, "note": "was short"}

    upcasters = {("work_released", 1): renamed, ("work_released", 2): noted}
    monkeypatch.setattr(ledger_codec, "EVENT_VERSION", 3)
    monkeypatch.setattr(ledger_codec, "UPCASTERS", upcasters)
    oldest = read_event("work_released", 1, b'{"at":"2026-03-01T12:00:00Z","lease":"L"}')
    older = read_event("work_released", 2, b'{"at":"2026-03-01T12:00:00Z","lease_id":"L"}')
    assert oldest == older == WorkReleased(at=AT, lease_id="L", note="was short")
    with pytest.raises(StoreCorrupt, match="version 1"):
        read_event("work_paused", 1, b"{}")


# --- states ---


def test_a_whole_state_comes_back_with_its_order_and_its_terms() -> None:
    state = fold(golden_events())
    again = read_state(STATE_VERSION, state_record(state))
    assert again is not None
    assert (again, first_difference(again, state)) == (state, None)
    assert state.terms != {}


def test_nothing_comes_back_as_nothing() -> None:
    assert state_record(LedgerState()) == b"{}\n{}"
    assert read_state(STATE_VERSION, b"{}\n{}") == LedgerState()
    assert read_state(1, b"{}") == LedgerState()


@given(st.lists(values_of(WorkItem), max_size=3))
def test_any_item_comes_back(items: list[WorkItem]) -> None:
    state = LedgerState()
    for item in items:
        state.items.setdefault(item.graph_id, {})[item.node_id] = item
    for own in state.items.values():
        state.terms.update({each.key: each.until for each in own.values() if each.until is not None})
    again = read_state(STATE_VERSION, state_record(state))
    assert again == state


def test_terms_follow_from_the_items() -> None:
    until = Expiry(at=AT, boot_id="b", ticks_ms=1)
    item = WorkItem(graph_id="g", node_id="n", state="queued", changed_at=AT, until=until)
    state = LedgerState(items={"g": {"n": item}}, terms={("g", "n"): until})
    assert b"terms" not in state_record(state)
    assert read_state(STATE_VERSION, state_record(state)) == state


def test_a_state_of_a_version_that_is_not_known_is_folded_anew() -> None:
    assert read_state(STATE_VERSION + 1, b"{}") is None
    assert read_state(0, b"{") is None


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"{", ""),
        (b"[]", ""),
        (b'{"leases":7}', "leases"),
        (b'{"items":{"g":{"n":{}}}}', "items/g/n/graph_id"),
        (b"{}", "its end is missing"),
        (b"{}\n", "its end is missing"),
        (b"{}\n[]", "items"),
        (b'{}\n{"items":{"of":{"g":1},"fields":{"node_id":["n","m"]}}}', "items/fields"),
        (b'{}\n{"items":{"of":{"g":1},"fields":{"node_id":[7]}}}', "items/fields/node_id"),
        (b'{}\n{"nodes":{"of":{"g":1},"fields":{"node_id":["n"]}}}', "nodes"),
    ],
)
def test_a_state_that_cannot_be_read_is_said_to_be_so(body: bytes, where: str) -> None:
    with pytest.raises(StoreCorrupt) as caught:
        read_state(STATE_VERSION, body)
    assert caught.value.message == f"A snapshot of the ledger cannot be read: {where}."


@pytest.mark.parametrize("body", [b"{}\n{", b'{}\n{"items":{},"items":{}}'])
def test_a_second_line_that_is_none_is_said_to_be_so(body: bytes) -> None:
    with pytest.raises(StoreCorrupt, match="A snapshot of the ledger cannot be read"):
        read_state(STATE_VERSION, body)


@pytest.mark.parametrize("is_loaded", [True, False])
@pytest.mark.parametrize(("version", "file"), [(1, "ledger_state.jsonl"), (2, "ledger_state_2.jsonl")])
def test_a_text_that_lost_anything_at_an_end_is_never_read_as_less(
    version: int, file: str, monkeypatch: pytest.MonkeyPatch, *, is_loaded: bool
) -> None:
    monkeypatch.setattr(codec, "is_pydantic_loaded", lambda: is_loaded)
    monkeypatch.setattr(codec, "_left_to_read", [1 << 40])
    whole = b"\n".join(golden(file))
    assert read_state(version, whole) is not None
    # Without pydantic it is read twice, since a text that is none is asked of pydantic in the end.
    ends = {whole.find(b"\n"), whole.find(b"\n") + 1} - {-1}
    for at in sorted(ends.union(range(0, len(whole), 1 if is_loaded else 17))):
        for part in (whole[:at], whole[at + 1 :]):
            with pytest.raises(StoreCorrupt, match="A snapshot of the ledger cannot be read"):
                read_state(version, part)


# --- what is kept today ---


def test_the_kept_ledger_has_every_kind_of_event() -> None:
    assert {type(event) for event in golden_events()} == set(KIND_OF)


def test_events_are_written_as_they_were() -> None:
    assert [line_of(event) for event in golden_events()] == golden("ledger_events.jsonl")


def test_the_kept_ledger_leads_to_the_kept_state() -> None:
    state = fold(golden_events())
    now = b"\n".join(golden("ledger_state_2.jsonl"))
    assert state_record(state) == now
    for version, kept in ((1, golden("ledger_state.jsonl")[0]), (2, now)):
        again = read_state(version, kept)
        assert again is not None
        assert (first_difference(again, state), state_record(again)) == (None, now)
