"""Who is let in, who gets a node, and the word for why not."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from metagit_mcp.domain.admission import lease_term, short_id
from metagit_mcp.domain.commands import Against, Enter, StartWork
from metagit_mcp.domain.events import SessionNoted, SessionOpened, WorkAccepted, WorkReturned, WorkStarted
from metagit_mcp.domain.instant import Instant, expiry_after
from metagit_mcp.domain.limits import LeasePolicy
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.work import ExecutionLease, Holding, Session
from metagit_mcp.errors import AuthStaleSession, InvalidInput, MetagitError, WorkAlreadyOwned
from tests.unit.domain.played import NOON, Played, kinds

DAY = timedelta(days=1)


def refused(played: Played, **more: Any) -> MetagitError:  # noqa: ANN401 - the fields of a command
    command = StartWork(**{"graph_id": "g", "node_id": "n", "agent_id": "ada", **more})
    with pytest.raises(MetagitError) as caught:
        played.ask(command)
    return caught.value


def test_a_short_id_is_sixty_bits_of_the_digits() -> None:
    assert short_id("L", "0" * 32) == "L-AAAAAAAAAAAA"
    assert short_id("L", "f" * 15 + "0" * 17) == "L-777777777777"
    assert short_id("C", "8" + "0" * 14 + "1" * 17) == "C-QAAAAAAAAAAA"


# --- sessions ---


def test_the_first_call_opens_the_first_session() -> None:
    played = Played()
    played.enter(capabilities=("python",))
    assert played.events == [SessionOpened(at=NOON, agent_id="ada", epoch=1, capabilities=("python",))]
    assert played.state.sessions == {
        "ada": Session(agent_id="ada", epoch=1, opened_at=NOON, capabilities=("python",)),
    }


def test_a_later_call_joins_it_and_says_what_is_new() -> None:
    played = Played()
    played.enter(capabilities=("python",))
    assert played.enter().events == ()
    assert played.enter(capabilities=("python",)).events == ()
    assert played.enter(capabilities=()).events == (SessionNoted(at=NOON, agent_id="ada", capabilities=()),)


def test_a_new_session_takes_the_work_back_before_anything_starts() -> None:
    played = Played()
    first = played.start("a")
    played.accept("b")
    played.report(played.start("c"), "blocked", "waits")
    played.start("d", "bob")
    played.wait(60)
    events = played.enter(new_session=True, capabilities=("go",)).events
    start_by = expiry_after(played.now, 3_600)
    assert events == (
        SessionOpened(at=played.now.wall, agent_id="ada", epoch=2, capabilities=("go",)),
        WorkReturned(at=played.now.wall, graph_id="g", node_id="a", session_epoch=2, start_by=start_by),
        WorkReturned(at=played.now.wall, graph_id="g", node_id="b", session_epoch=2, start_by=start_by),
    )
    assert [(name, each.state, each.owner, each.owner_session) for name, each in played.state.items["g"].items()] == [
        ("a", "queued", "ada", 2),
        ("b", "queued", "ada", 2),
        ("c", "blocked", "ada", 1),
        ("d", "active", "bob", 1),
    ]
    assert played.state.closed[first].closure == "session"
    again = played.start("a")
    assert again != first
    assert (played.state.leases[again].session_epoch, played.state.leases[again].ownership_epoch) == (2, 1)


def test_work_is_taken_back_in_the_order_of_its_nodes() -> None:
    played = Played()
    names = [f"n{count}" for count in range(8)]
    for name in reversed(names):
        played.start(name)
    events = played.enter(new_session=True).events
    assert [event.node_id for event in events if isinstance(event, WorkReturned)] == names


def test_a_second_server_of_an_agent_is_refused_while_the_first_is_heard_of() -> None:
    played = Played()
    played.enter(holder="one")
    played.wait(449)
    assert played.enter(holder="one").events == ()
    played.wait(2)
    held = expiry_after(played.now, 900)
    assert played.enter(holder="one").events == (
        SessionNoted(at=played.now.wall, agent_id="ada", holder="one", held_until=held),
    )
    played.wait(899)
    with pytest.raises(AuthStaleSession) as caught:
        played.enter(holder="two")
    assert caught.value.details == {"agent_id": "ada", "session_epoch": 1}
    # Whoever has no server of its own joins, and does not take the session from it.
    assert played.enter(capabilities=("go",)).events == (
        SessionNoted(at=played.now.wall, agent_id="ada", capabilities=("go",), holder="one", held_until=held),
    )
    played.wait(1)
    assert played.enter(holder="two").events[0].holder == "two"  # type: ignore[union-attr] # a session is noted


def test_a_new_session_may_be_of_another_server() -> None:
    played = Played()
    played.enter(holder="one")
    played.enter(holder="two", new_session=True)
    session = played.state.sessions["ada"]
    assert (session.epoch, session.holder, session.held_until) == (2, "two", expiry_after(played.now, 900))
    with pytest.raises(AuthStaleSession):
        played.enter(holder="one")


def test_after_another_boot_a_session_is_held_by_the_wall_never_earlier_than_the_last_event() -> None:
    played = Played()
    played.enter(holder="one")
    played.wait(900)
    played.enter("bob")
    played.now = Instant(wall=NOON - DAY, boot_id="other", ticks_ms=0)
    assert kinds(played.enter(holder="two").events) == ["SessionNoted"]


def test_a_server_takes_a_session_that_no_server_holds() -> None:
    played = Played()
    played.enter()
    assert played.enter(holder="one").events == (
        SessionNoted(at=NOON, agent_id="ada", holder="one", held_until=expiry_after(played.now, 900)),
    )


# --- start ---


def test_a_start_gives_a_lease() -> None:
    played = Played()
    holding = Holding(slots=2, cost=3, repository="r", uses={"gpu": 1}, exclusive=("db",), touches=("src/**",))
    played.start(holding=holding, budget={"tokens": 9}, attended=True, seen_at=NOON + DAY)
    lease = ExecutionLease(
        lease_id="L-AAAAAAAAAAAB",
        graph_id="g",
        node_id="n",
        agent_id="ada",
        session_epoch=1,
        ownership_epoch=1,
        granted_at=NOON,
        expiry=expiry_after(played.now, 900),
        term_seconds=900,
        attended=True,
        holding=holding,
        budget={"tokens": 9},
    )
    assert played.events[1:] == [WorkStarted(at=NOON, lease=lease, seen_at=NOON + DAY)]
    assert played.lease() == lease
    assert played.item().changed_at == NOON + DAY + timedelta(microseconds=1)


def test_the_holder_gets_the_same_lease_again() -> None:
    played = Played()
    lease_id = played.start()
    for queue_only in (False, True):
        command = StartWork(graph_id="g", node_id="n", agent_id="ada", queue_only=queue_only, lease_seconds=1)
        decided = played.ask(command)
        assert (decided.events, decided.lease_id, decided.refusal) == ((), lease_id, None)


def test_accepted_work_is_started_at_its_epoch() -> None:
    played = Played()
    played.accept(seen_at=NOON)
    assert played.events[1:] == [
        WorkAccepted(
            at=NOON,
            graph_id="g",
            node_id="n",
            agent_id="ada",
            session_epoch=1,
            ownership_epoch=1,
            start_by=expiry_after(played.now, 3_600),
            seen_at=NOON,
        )
    ]
    assert played.ask(StartWork(graph_id="g", node_id="n", agent_id="ada", queue_only=True)).events == ()
    played.start()
    assert (played.item().state, played.lease().ownership_epoch) == ("active", 1)


def test_each_ownership_has_an_epoch_of_its_own_and_each_acquisition_a_lease() -> None:
    played = Played()
    seen = []
    for _ in range(3):
        lease_id = played.start()
        seen.append((lease_id, played.lease().ownership_epoch))
        played.report(lease_id, "released")
    assert seen == [("L-AAAAAAAAAAAB", 1), ("L-AAAAAAAAAAAC", 2), ("L-AAAAAAAAAAAD", 3)]


def test_paused_work_is_resumed_at_its_checkpoint() -> None:
    played = Played()
    played.report(played.start(), "paused", "half done")
    point = played.item().checkpoint
    assert point is not None
    played.start()
    assert (played.lease().resumed_from, played.lease().ownership_epoch) == (point.checkpoint_id, 1)


@pytest.mark.parametrize("queue_only", [False, True])
def test_what_another_agent_has_is_not_given(*, queue_only: bool) -> None:
    played = Played()
    played.start("n", "bob")
    played.accept("m", "bob")
    played.enter()
    for node_id in ("n", "m"):
        error = refused(played, node_id=node_id, queue_only=queue_only, against=(Against(kind="leased", text="x"),))
        assert (type(error), error.details["owner"]) == (WorkAlreadyOwned, "bob")


@pytest.mark.parametrize(
    ("kind", "reason", "code"),
    [
        ("capability_missing", "capability", "NODE_NOT_ELIGIBLE"),
        ("awaiting_approval", "authorization", "NODE_NOT_ELIGIBLE"),
        ("not_ready", "dependency", "NODE_NOT_ELIGIBLE"),
        ("blocked", "dependency", "NODE_NOT_ELIGIBLE"),
        ("budget_exhausted", "budget", "NODE_NOT_ELIGIBLE"),
        ("never_fits", "capacity", "NODE_NOT_ELIGIBLE"),
        ("exclusive", "capacity", "NODE_NOT_ELIGIBLE"),
        ("agent_slots", "capacity", "CAPACITY_EXCEEDED"),
        ("no_slot", "capacity", "CAPACITY_EXCEEDED"),
        ("deferred", "other", "NODE_NOT_ELIGIBLE"),
    ],
)
def test_a_decline_has_one_word_and_every_reason(kind: str, reason: str, code: str) -> None:
    played = Played()
    played.enter()
    error = refused(played, against=(Against(kind=kind, text=f"{kind}(x)"), Against(kind="paused", text="paused(y)")))
    assert (error.code, error.details) == (
        code,
        {"graph_id": "g", "node_id": "n", "reason": reason, "reasons": [f"{kind}(x)", "paused(y)"]},
    )


def test_what_may_pass_does_not_stand_against_accepting() -> None:
    played = Played()
    against = tuple(Against(kind=kind, text=kind) for kind in ("no_slot", "agent_slots", "exclusive", "reserved"))
    played.accept(against=against)
    assert played.item().state == "queued"
    assert refused(played, against=against).code == "CAPACITY_EXCEEDED"
    lasting = (Against(kind="no_slot", text="no_slot"), Against(kind="capability_missing", text="c"))
    assert refused(played, node_id="m", against=lasting, queue_only=True).details["reasons"] == ["c"]


def test_the_queue_is_bounded_and_what_is_in_it_stays() -> None:
    played = Played(SchedulePolicy(queue_capacity=2))
    played.accept("a")
    played.report(played.start("b"), "paused", "later")
    played.report(played.start("c"), "blocked", "waits")
    error = refused(played, node_id="d", queue_only=True)
    assert (error.code, error.details["reason"], error.details["reasons"]) == (
        "CAPACITY_EXCEEDED",
        "capacity",
        ["queue_capacity(limit 2)"],
    )
    played.policy = SchedulePolicy(queue_capacity=0)
    assert [played.item(name).state for name in "abc"] == ["queued", "queued", "blocked"]
    played.start("a")
    assert played.item("a").state == "active"


@pytest.mark.parametrize(("runtime", "is_kept"), [(3_600, True), (3_601, False)])
def test_a_deadline_that_cannot_be_kept_is_declined(runtime: int, *, is_kept: bool) -> None:
    played = Played()
    played.enter()
    command = StartWork(
        graph_id="g",
        node_id="n",
        agent_id="ada",
        queue_only=True,
        finish_by=NOON + timedelta(hours=1),
        runtime_seconds=runtime,
    )
    if is_kept:
        assert kinds(played.do(command).events) == ["WorkAccepted"]
    else:
        names = {"finish_by": command.finish_by, "runtime_seconds": runtime, "queue_only": True}
        error = refused(played, **names)
        assert (error.details["reason"], error.details["reasons"]) == ("deadline", ["deadline(cannot be kept)"])


def test_a_term_is_asked_for_within_bounds() -> None:
    policy = SchedulePolicy(leases=LeasePolicy(seconds=70, unattended_seconds=80, max_seconds=100))
    assert lease_term(None, policy, attended=True) == 70
    assert lease_term(None, policy, attended=False) == 80
    assert [lease_term(asked, policy, attended=True) for asked in (60, 100)] == [60, 100]
    for asked in (-1, 0, 59, 101):
        with pytest.raises(InvalidInput, match="must be 60 to 100"):
            lease_term(asked, policy, attended=False)


def test_the_same_question_has_the_same_answer() -> None:
    played = Played()
    played.start("m")
    command = Enter(agent_id="ada", new_session=True)
    assert played.ask(command) == played.ask(command)
    assert replace(played.state) == played.state
