"""What every event store does (ADR 0017): one order, whole blocks, one writer, nothing made by reading.

It must not know any store: it sees them through the port, and what happens from outside through `Ledgers`.
"""

import ctypes
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from metagit_mcp.adapters.freed_memory import LARGE
from metagit_mcp.errors import StoreUnavailable
from metagit_mcp.ports.ledger import EventStore, LedgerMark, LedgerWriter, StoredEvent, StoredSnapshot
from tests.conformance.ledgers import BUSY_SECONDS, Ledgers

NewId = Callable[[], str]
NOTHING = LedgerMark()


def mark(position: int, workspace_id: str = "w1") -> LedgerMark:
    return LedgerMark(workspace_id=workspace_id, position=position)


def event(position: int, text: str) -> StoredEvent:
    return StoredEvent(position=position, kind=f"kind-{text}", version=1, body=text.encode())


def snapshot(position: int, version: int = 1, body: bytes = b"state", workspace_id: str = "w1") -> StoredSnapshot:
    return StoredSnapshot(workspace_id=workspace_id, position=position, version=version, body=body)


def append(store: EventStore, new_id: NewId, *texts: str, known: LedgerMark = NOTHING) -> None:
    with store.writing(known, new_id) as writer:
        writer.append([(f"kind-{text}", 1, text.encode()) for text in texts])


def found(writer: LedgerWriter) -> tuple[LedgerMark, Sequence[StoredEvent], StoredSnapshot | None, bool]:
    return writer.mark, tuple(writer.news), writer.restart, writer.is_other


def seen(store: EventStore, new_id: NewId, known: LedgerMark) -> tuple[object, ...]:
    """What a writer that comes with `known` is given; it appends nothing."""
    with store.writing(known, new_id) as writer:
        return found(writer)


# --- reading -------------------------------------------------------------------------------------------------------


def test_reading_where_nothing_is_finds_nothing_and_makes_nothing(ledgers: Ledgers, store: EventStore) -> None:
    assert (store.mark(), tuple(store.read(0)), store.snapshot()) == (NOTHING, (), None)
    store.keep(snapshot(1))
    assert (store.mark(), store.snapshot(), ledgers.traces()) == (NOTHING, None, set())


def test_events_are_read_in_the_order_in_which_they_were_appended(store: EventStore, new_id: NewId) -> None:
    append(store, new_id, "b", "a")
    append(store, new_id, "c", known=mark(2))
    assert store.mark() == mark(3)
    assert tuple(store.read(0)) == (event(1, "b"), event(2, "a"), event(3, "c"))
    assert tuple(store.read(2)) == (event(3, "c"),)
    assert (tuple(store.read(3)), tuple(store.read(9))) == ((), ())


def test_events_are_read_in_pages(store: EventStore, new_id: NewId) -> None:
    append(store, new_id, *"abcde")
    pages = [[each.body.decode() for each in store.read(after, 2)] for after in (0, 2, 4, 5)]
    assert pages == [["a", "b"], ["c", "d"], ["e"], []]
    assert [[each.position for each in store.read(1, limit)] for limit in (0, 1, 9)] == [[], [2], [2, 3, 4, 5]]


def test_a_whole_ledger_is_examined_without_a_finding(ledgers: Ledgers, store: EventStore, new_id: NewId) -> None:
    assert (tuple(store.examine()), ledgers.traces()) == ((), set())
    append(store, new_id, "a", "b")
    store.keep(snapshot(2))
    assert tuple(store.examine()) == ()


def test_kind_version_and_bytes_come_back_as_they_were(store: EventStore, new_id: NewId) -> None:
    bodies = [b"", b"\0\xff\n", '{"t": "\u2028é"}'.encode(), b"x" * 300_000]
    with store.writing(NOTHING, new_id) as writer:
        writer.append([(f"WorkStarted-é-{number}", number, body) for number, body in enumerate(bodies, 1)])
    assert tuple(store.read(0)) == tuple(
        StoredEvent(position=number, kind=f"WorkStarted-é-{number}", version=number, body=body)
        for number, body in enumerate(bodies, 1)
    )


def test_another_store_sees_what_was_appended(ledgers: Ledgers, store: EventStore, new_id: NewId) -> None:
    other = ledgers.opened()
    marks = [other.mark()]
    for text in ("a", "b", "c"):
        append(store, new_id, text)
        marks.append(other.mark())
    assert marks == [NOTHING, mark(1), mark(2), mark(3)]
    assert tuple(other.read(1)) == (event(2, "b"), event(3, "c"))


def test_what_is_closed_opens_again_as_it_was(ledgers: Ledgers, store: EventStore, new_id: NewId) -> None:
    append(store, new_id, "a", "b")
    store.keep(snapshot(1))
    store.close()
    store.close()
    for each in (store, ledgers.opened()):
        assert (each.mark(), each.snapshot()) == (mark(2), snapshot(1))
        assert tuple(each.read(0)) == (event(1, "a"), event(2, "b"))


# --- one block -----------------------------------------------------------------------------------------------------


def test_a_block_that_appends_nothing_makes_the_ledger_all_the_same(store: EventStore, new_id: NewId) -> None:
    assert seen(store, new_id, NOTHING) == (mark(0), (), None, True)
    assert (store.mark(), new_id()) == (mark(0), "w2")


def test_several_appends_of_a_block_follow_each_other(store: EventStore, new_id: NewId) -> None:
    with store.writing(NOTHING, new_id) as writer:
        writer.append([("kind-a", 1, b"a")])
        writer.append([])
        writer.append([("kind-b", 1, b"b"), ("kind-c", 1, b"c")])
        assert writer.mark == mark(0)
    assert tuple(store.read(0)) == (event(1, "a"), event(2, "b"), event(3, "c"))


def test_nothing_of_a_block_is_seen_before_its_end(ledgers: Ledgers, store: EventStore, new_id: NewId) -> None:
    append(store, new_id, "a")
    at_the_end = [event(1, "a"), event(2, "b")]
    with store.writing(mark(1), new_id) as writer:
        writer.append([("kind-b", 1, b"b")])
        assert list(store.read(0)) == [event(1, "a")]
        assert list(ledgers.opened().read(0)) == [event(1, "a")]
    assert list(store.read(0)) == list(ledgers.opened().read(0)) == at_the_end


@pytest.mark.parametrize("failure", [KeyError, KeyboardInterrupt, GeneratorExit])
def test_an_exception_in_the_block_appends_nothing(
    store: EventStore, new_id: NewId, failure: type[BaseException]
) -> None:
    append(store, new_id, "a")

    def fail() -> None:
        with store.writing(mark(1), new_id) as writer:
            writer.append([("kind-b", 1, b"b")])
            raise failure

    with pytest.raises(failure):
        fail()
    assert (store.mark(), tuple(store.read(0))) == (mark(1), (event(1, "a"),))
    append(store, new_id, "c", known=mark(1))
    assert tuple(store.read(0)) == (event(1, "a"), event(2, "c"))


# --- what a writer is told -----------------------------------------------------------------------------------------


def test_a_writer_is_told_what_it_does_not_know(ledgers: Ledgers, store: EventStore, new_id: NewId) -> None:
    append(store, new_id, "a", "b", "c")
    other = ledgers.opened()
    assert seen(other, new_id, mark(3)) == (mark(3), (), None, False)
    assert seen(other, new_id, mark(1)) == (mark(3), (event(2, "b"), event(3, "c")), None, False)
    assert seen(other, new_id, NOTHING) == (mark(3), (event(1, "a"), event(2, "b"), event(3, "c")), None, True)


def test_a_writer_that_knows_another_ledger_starts_from_the_snapshot(store: EventStore, new_id: NewId) -> None:
    append(store, new_id, "a", "b", "c")
    store.keep(snapshot(2))
    anew = (mark(3), (event(3, "c"),), snapshot(2), True)
    assert seen(store, new_id, NOTHING) == anew
    assert seen(store, new_id, mark(3, "w9")) == anew
    # One that knows more than there is has folded what was lost.
    assert seen(store, new_id, mark(4)) == anew
    # Whoever has followed so far needs no snapshot.
    assert seen(store, new_id, mark(1)) == (mark(3), (event(2, "b"), event(3, "c")), None, False)


def test_a_lost_ledger_is_noticed_and_another_one_made(ledgers: Ledgers, store: EventStore, new_id: NewId) -> None:
    other = ledgers.opened()
    append(store, new_id, "a", "b")
    store.keep(snapshot(2))
    assert other.mark() == mark(2)
    ledgers.lose()
    for each in (store, other):
        assert (each.mark(), tuple(each.read(0)), each.snapshot()) == (NOTHING, (), None)
    with other.writing(mark(2), new_id) as writer:
        assert found(writer) == (mark(0, "w2"), (), None, True)
        writer.append([("kind-c", 1, b"c")])
    assert (store.mark(), tuple(store.read(0)), store.snapshot()) == (mark(1, "w2"), (event(1, "c"),), None)
    assert seen(store, new_id, mark(2)) == (mark(1, "w2"), (event(1, "c"),), None, True)


def test_a_ledger_that_another_made_anew_is_noticed(ledgers: Ledgers, store: EventStore, new_id: NewId) -> None:
    other = ledgers.opened()
    append(store, new_id, "a", "b", "c")
    assert other.mark() == mark(3)
    ledgers.lose()
    append(store, new_id, "d")
    assert seen(other, new_id, mark(3)) == (mark(1, "w2"), (event(1, "d"),), None, True)


# --- snapshots -----------------------------------------------------------------------------------------------------


def test_the_newest_snapshot_is_kept(store: EventStore, new_id: NewId) -> None:
    append(store, new_id, "a", "b", "c")
    kept = []
    for position, version in ((2, 1), (1, 1), (2, 2), (3, 2), (4, 2)):
        store.keep(snapshot(position, version, b"%d" % version))
        kept.append(store.snapshot())
    assert kept == [
        snapshot(2, 1, b"1"),
        snapshot(2, 1, b"1"),
        snapshot(2, 2, b"2"),
        snapshot(3, 2, b"2"),
        # A snapshot from beyond the end of the ledger is none of this ledger.
        snapshot(3, 2, b"2"),
    ]
    assert store.mark() == mark(3)


def test_a_snapshot_of_another_ledger_is_not_kept(ledgers: Ledgers, store: EventStore, new_id: NewId) -> None:
    append(store, new_id, "a", "b")
    store.keep(snapshot(1, workspace_id="w2"))
    assert store.snapshot() is None
    ledgers.lose()
    append(store, new_id, "c", "d")
    store.keep(snapshot(2))
    assert store.snapshot() is None
    store.keep(snapshot(2, workspace_id="w2"))
    assert store.snapshot() == snapshot(2, workspace_id="w2")


def test_what_a_large_snapshot_took_to_be_made_is_given_back(
    store: EventStore, new_id: NewId, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimmed: list[int] = []
    library = SimpleNamespace(malloc_trim=trimmed.append, mallopt=lambda *_: 1)
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: library)
    append(store, new_id, "a")
    store.keep(snapshot(1, body=b"x" * (LARGE - 1)))
    assert trimmed == []
    store.keep(snapshot(1, body=b"x" * LARGE))
    assert trimmed == [0]


# --- one writer ----------------------------------------------------------------------------------------------------


def test_a_second_writer_waits_no_longer_than_it_may(ledgers: Ledgers, store: EventStore, new_id: NewId) -> None:
    append(store, new_id, "a")
    other = ledgers.opened(BUSY_SECONDS)
    refused: list[StoreUnavailable] = []

    def claim() -> None:
        with pytest.raises(StoreUnavailable) as caught:
            append(other, new_id, "b")
        refused.append(caught.value)

    with ledgers.opened().writing(mark(1), new_id) as writer:
        second = threading.Thread(target=claim)
        second.start()
        second.join(timeout=60)
        writer.append([("kind-c", 1, b"c")])
    assert [(each.retryable, each.hint.endswith("Try again.")) for each in refused] == [(True, True)]
    assert tuple(store.read(0)) == (event(1, "a"), event(2, "c"))
    append(other, new_id, "d", known=mark(2))
    assert store.mark() == mark(3)


@pytest.mark.parametrize("has_own_store", [True, False])
def test_writers_at_once_lose_nothing_and_each_is_told_of_all_others(
    ledgers: Ledgers, new_id: NewId, *, has_own_store: bool
) -> None:
    shared = ledgers.opened()
    drawing = threading.Lock()
    histories: dict[str, list[StoredEvent]] = {}

    def one_id() -> str:
        with drawing:
            return new_id()

    def write(name: str) -> None:
        store = ledgers.opened() if has_own_store else shared
        known = NOTHING
        history: list[StoredEvent] = []
        for number in range(25):
            with store.writing(known, one_id) as writer:
                history = [] if writer.is_other else history
                own = [event(writer.mark.position + 1, f"{name}{number}")]
                history += [*writer.news, *own]
                writer.append([(each.kind, each.version, each.body) for each in own])
                known = mark(writer.mark.position + 1, writer.mark.workspace_id)
        histories[name] = history

    threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b", "c", "d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=100)
    whole = list(shared.read(0))
    assert [each.position for each in whole] == list(range(1, 101))
    appended = sorted(f"{name}{number}".encode() for name in "abcd" for number in range(25))
    assert sorted(each.body for each in whole) == appended
    # Each fold is the ledger up to the fold's own last event.
    assert sorted(histories) == ["a", "b", "c", "d"]
    assert [history == whole[: len(history)] for history in histories.values()] == [True] * 4


def test_a_block_inside_a_block_of_the_same_store_is_a_fault_of_the_caller(store: EventStore, new_id: NewId) -> None:
    with (
        store.writing(NOTHING, new_id) as writer,
        pytest.raises(RuntimeError, match="a writing block of this store is open already"),
        store.writing(NOTHING, new_id),
    ):
        writer.append([("kind-z", 1, b"z")])
    assert (store.mark(), tuple(store.read(0))) == (mark(0), ())
