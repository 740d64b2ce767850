"""What every event store does with the inboxes of the Groups (ADR 0028): each apart, part of the writer's block.

It must not know any store: it sees them through the port, and what happens from outside through `Ledgers`.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from metagit_mcp.ports.ledger import EventStore, GroupInbox, InboxEntry, InboxSize, LedgerMark
from tests.conformance.ledgers import Ledgers

NewId = Callable[[], str]
NOTHING = LedgerMark()


def key(text: str) -> bytes:
    return text.encode().rjust(16, b"\0")


def entry(sequence: int, body: bytes = b"", event: str = "") -> InboxEntry:
    """One entry; its event is named after its sequence unless told otherwise."""
    name = event or f"e{sequence}"
    return InboxEntry(sequence=sequence, event_key=key(name), digest=key(f"digest of {name}"[:16]), body=body)


def held(*sequences: int) -> list[InboxEntry]:
    return [entry(sequence, b"body %d" % sequence) for sequence in sequences]


def put(store: EventStore, new_id: NewId, entries: Iterable[InboxEntry], group_id: str = "g") -> None:
    with store.writing(NOTHING, new_id) as writer:
        writer.inbox(group_id).put(list(entries))


def asked(store: EventStore, new_id: NewId, *entries: InboxEntry, group_id: str = "g") -> list[int]:
    """The sequences of what is known of these."""
    with store.writing(NOTHING, new_id) as writer:
        return [each.sequence for each in writer.inbox(group_id).known(entries)]


def follows(store: EventStore, new_id: NewId, after: int, limit: int = 100) -> list[InboxEntry]:
    with store.writing(NOTHING, new_id) as writer:
        return list(writer.inbox("g").held(after, limit))


# --- what is known -------------------------------------------------------------------------------------------------


def test_an_inbox_that_nothing_was_put_into_is_empty_and_asking_makes_nothing(
    ledgers: Ledgers, store: EventStore, new_id: NewId
) -> None:
    assert (store.inbox_size("g"), ledgers.traces()) == (InboxSize(), set())
    with store.writing(NOTHING, new_id) as writer:
        inbox = writer.inbox("g")
        inbox.put([])
        inbox.applied(9)
        inbox.forget(9)
        assert (tuple(inbox.known([])), tuple(inbox.known([entry(1)])), tuple(inbox.held(0, 9))) == ((), (), ())
        assert inbox.held_size() == (0, 0)
    assert (store.inbox_size("g"), store.mark().position) == (InboxSize(), 0)


def test_what_stands_at_a_sequence_or_under_an_event_key_is_known_in_order(store: EventStore, new_id: NewId) -> None:
    put(store, new_id, [entry(7), *held(3), entry(1)])
    with store.writing(NOTHING, new_id) as writer:
        inbox = writer.inbox("g")
        questions = [entry(9, event="e7"), entry(3, event="other"), entry(3, event="e3"), entry(4), entry(1)]
        assert tuple(inbox.known(questions)) == (entry(1), entry(3), entry(7))
        assert tuple(inbox.known([entry(4)])) == ()


def test_a_thousand_are_looked_up_among_many_with_places_far_apart(store: EventStore, new_id: NewId) -> None:
    far = 2**62
    put(store, new_id, [entry(number) for number in (*range(1, 2_001), far)])
    known = asked(store, new_id, *map(entry, range(1_501, 2_501)), entry(far))
    assert known == [*range(1_501, 2_001), far]


def test_inboxes_of_groups_are_apart(store: EventStore, new_id: NewId) -> None:
    put(store, new_id, held(2))
    put(store, new_id, held(2, 3), "é/g")
    with store.writing(NOTHING, new_id) as writer:
        writer.inbox("g").applied(9)
        writer.inbox("é/g").forget(3)
    assert [asked(store, new_id, entry(2), entry(3), group_id=each) for each in ("g", "é/g")] == [[2], [3]]
    sizes = [store.inbox_size(each) for each in ("g", "é/g", "G")]
    assert sizes == [InboxSize(), InboxSize(held=1, bytes=6, first_held=3), InboxSize()]


@pytest.mark.parametrize("taken", [entry(1, event="new"), entry(9, event="e1"), entry(2)])
def test_a_place_or_event_key_that_is_taken_is_refused_and_the_block_undone(
    store: EventStore, new_id: NewId, taken: InboxEntry
) -> None:
    put(store, new_id, [entry(1), *held(2)])

    def twice() -> None:
        with store.writing(NOTHING, new_id) as writer:
            writer.append([("kind", 1, b"")])
            writer.inbox("g").put([entry(5), taken])

    with pytest.raises(ValueError, match="something stands at"):
        twice()
    assert (asked(store, new_id, entry(5)), store.mark().position) == ([], 0)


# --- what is held --------------------------------------------------------------------------------------------------


def test_held_entries_are_given_up_to_the_first_gap(store: EventStore, new_id: NewId) -> None:
    put(store, new_id, [entry(1), *held(7, 3, 4, 5), entry(8)])
    assert follows(store, new_id, 2) == held(3, 4, 5)
    assert follows(store, new_id, 2, limit=2) == held(3, 4)
    assert follows(store, new_id, 3) == held(4, 5)
    # An applied entry is not held, and what lies beyond it does not follow.
    assert [follows(store, new_id, after) for after in (0, 1, 5, 8)] == [[], [], [], []]
    assert (follows(store, new_id, 6), follows(store, new_id, 2, limit=0)) == (held(7), [])


def test_bodies_come_back_as_they_were(store: EventStore, new_id: NewId) -> None:
    bodies = [b"\0\xff\n", "\u2028é".encode(), b"x" * 65_536]
    entries = [entry(number, body) for number, body in enumerate(bodies, start=1)]
    put(store, new_id, entries)
    assert follows(store, new_id, 0) == entries
    assert store.inbox_size("g") == InboxSize(held=3, bytes=sum(map(len, bodies)), first_held=1)


def test_what_was_applied_stays_known_and_is_held_no_more(store: EventStore, new_id: NewId) -> None:
    put(store, new_id, held(3, 4, 6))
    with store.writing(NOTHING, new_id) as writer:
        inbox = writer.inbox("g")
        inbox.applied(4)
        assert (inbox.held_size(), tuple(inbox.held(2, 9))) == ((1, 6), ())
    assert asked(store, new_id, entry(3), entry(9, event="e4"), entry(6)) == [3, 4, 6]
    assert store.inbox_size("g") == InboxSize(held=1, bytes=6, first_held=6)


def test_what_is_forgotten_is_known_no_more_and_may_come_again(store: EventStore, new_id: NewId) -> None:
    put(store, new_id, [entry(1), *held(2, 4), entry(5)])
    with store.writing(NOTHING, new_id) as writer:
        writer.inbox("g").forget(4)
    assert asked(store, new_id, *map(entry, range(1, 7))) == [4, 5]
    assert store.inbox_size("g") == InboxSize(held=1, bytes=6, first_held=4)
    put(store, new_id, [entry(1), entry(3, event="e2")])
    assert asked(store, new_id, *map(entry, range(1, 7))) == [1, 3, 4, 5]


# --- part of the block ---------------------------------------------------------------------------------------------


def test_a_block_sees_what_it_did_and_others_see_it_at_its_end(
    ledgers: Ledgers, store: EventStore, new_id: NewId
) -> None:
    other = ledgers.opened()
    with store.writing(NOTHING, new_id) as writer:
        writer.inbox("g").put(held(2, 3))
        again = writer.inbox("g")
        assert tuple(again.known([entry(2)])) == (entry(2),)
        assert (tuple(again.held(1, 9)), again.held_size()) == (tuple(held(2, 3)), (2, 12))
        assert (store.inbox_size("g").held, other.inbox_size("g").held) == (2, 0)
    assert store.inbox_size("g") == other.inbox_size("g") == InboxSize(held=2, bytes=12, first_held=2)


def test_a_block_without_events_is_durable_too(ledgers: Ledgers, store: EventStore, new_id: NewId) -> None:
    put(store, new_id, held(2))
    store.close()
    for each in (store, ledgers.opened()):
        assert (each.mark().position, follows(each, new_id, 1)) == (0, held(2))


@pytest.mark.parametrize("failure", [KeyError, KeyboardInterrupt, GeneratorExit])
def test_an_exception_in_the_block_leaves_the_inbox_as_it_was(
    store: EventStore, new_id: NewId, failure: type[BaseException]
) -> None:
    put(store, new_id, [entry(1), *held(3)])

    def fail() -> None:
        with store.writing(NOTHING, new_id) as writer:
            inbox = writer.inbox("g")
            inbox.put(held(4))
            inbox.applied(3)
            inbox.forget(2)
            writer.inbox("new").put(held(1))
            writer.append([("kind", 1, b"")])
            raise failure

    with pytest.raises(failure):
        fail()
    assert (store.mark().position, store.inbox_size("new")) == (0, InboxSize())
    assert (asked(store, new_id, entry(1), entry(4)), follows(store, new_id, 2)) == ([1], held(3))


@pytest.mark.parametrize("is_followed", [True, False])
def test_an_inbox_is_of_no_use_after_its_block(store: EventStore, new_id: NewId, *, is_followed: bool) -> None:
    with store.writing(NOTHING, new_id) as writer:
        inbox = writer.inbox("g")
    uses: list[Callable[[GroupInbox], object]] = [
        lambda each: each.put(held(1)),
        lambda each: each.known([entry(1)]),
        lambda each: each.held(0, 1),
        lambda each: each.held_size(),
        lambda each: each.applied(1),
        lambda each: each.forget(1),
    ]

    def use_all() -> None:
        for use in uses:
            with pytest.raises(RuntimeError, match="the writing block of this inbox is over"):
                use(inbox)

    if is_followed:
        with store.writing(NOTHING, new_id):
            use_all()
    use_all()
    assert store.inbox_size("g") == InboxSize()


def test_a_lost_ledger_takes_its_inboxes_along(ledgers: Ledgers, store: EventStore, new_id: NewId) -> None:
    other = ledgers.opened()
    put(store, new_id, held(2))
    assert other.inbox_size("g").held == 1
    ledgers.lose()
    assert (store.inbox_size("g"), other.inbox_size("g")) == (InboxSize(), InboxSize())
    put(other, new_id, [replace(entry(2), digest=key("another"))])
    assert (asked(store, new_id, entry(2)), store.mark().workspace_id) == ([2], "w2")


def test_a_ledger_with_inboxes_is_examined_without_a_finding(store: EventStore, new_id: NewId) -> None:
    put(store, new_id, [entry(1), *held(3)])
    assert tuple(store.examine()) == ()


def test_writers_at_once_put_each_event_once(ledgers: Ledgers, new_id: NewId) -> None:
    drawing = threading.Lock()
    added: dict[str, int] = {}

    def one_id() -> str:
        with drawing:
            return new_id()

    def feed(name: str) -> None:
        store, count = ledgers.opened(), 0
        for number in range(1, 26):
            with store.writing(NOTHING, one_id) as writer:
                inbox = writer.inbox("g")
                if not inbox.known([entry(number)]):
                    inbox.put(held(number))
                    count += 1
        added[name] = count

    threads = [threading.Thread(target=feed, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=100)
    assert (sorted(added), sum(added.values())) == (["a", "b", "c"], 25)
    assert follows(ledgers.opened(), one_id, 0) == held(*range(1, 26))


def test_held_entries_are_read_over_gaps_where_that_is_asked_for(store: EventStore, new_id: NewId) -> None:
    put(store, new_id, [*held(7, 2, 4, 3), entry(5)])
    with store.writing(NOTHING, new_id) as writer:
        inbox = writer.inbox("g")
        assert tuple(inbox.held(1, 9, over_gaps=True)) == tuple(held(2, 3, 4, 7))
        assert tuple(inbox.held(2, 2, over_gaps=True)) == tuple(held(3, 4))
        assert tuple(inbox.held(7, 9, over_gaps=True)) == ()
        assert tuple(inbox.held(1, 9)) == tuple(held(2, 3, 4))
