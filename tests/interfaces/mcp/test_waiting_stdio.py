"""A call that waits for work, over the raw wire between real processes: woken, told of, and given up."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.interfaces.mcp.live import (
    NEXT,
    REPORT,
    STATUS,
    LiveServer,
    claimed,
    node,
    record_of,
    statuses,
    until,
    write_graph,
)
from tests.interfaces.mcp.raw_wire import ERAS
from tests.soon import soon

if TYPE_CHECKING:
    from pathlib import Path

TELLS_EVERY_S = 5.0
CANCELLED = "notifications/cancelled"
# Two answers and a claim; the first wait of a server that has nothing lasts longer.
AT_ONCE_S = 5.0


@pytest.fixture
def idle(tmp_path: Path) -> Path:
    """A workspace in which nothing can be started."""
    write_graph(tmp_path, node("one", status="blocked", blocker_reason="no key"))
    return tmp_path


@pytest.mark.parametrize("era", ERAS)
def test_it_answers_at_once_when_there_is_work(tmp_path: Path, era: str) -> None:
    write_graph(tmp_path, *(node(f"n{number}") for number in range(9)))
    with LiveServer(tmp_path, era=era) as server:
        for attempt in soon(AT_ONCE_S):
            asked = {"claim": True, "agent_id": f"agent-{attempt.number}", "wait_seconds": 50}
            with attempt:
                assert claimed(server.ask(NEXT, **asked)) == [f"n{attempt.number}"]
                # What is held is an answer too.
                assert len(server.ask(NEXT, **asked)["held"]) == 1


@pytest.mark.parametrize("era", ERAS)
def test_it_answers_with_nothing_when_the_time_is_over(idle: Path, era: str) -> None:
    with LiveServer(idle, "--max-wait", "1", era=era) as server:
        began = time.monotonic()
        answer = server.ask(NEXT, claim=True, wait_seconds=300)
        assert time.monotonic() - began >= 1.0
        assert (answer["decisions"], answer["not_eligible"]) == ([], [{"reason": "blocked", "nodes": 1}])


@pytest.mark.parametrize("era", ERAS)
def test_a_file_that_another_program_writes_wakes_it(idle: Path, era: str) -> None:
    with LiveServer(idle, era=era) as server:
        for attempt in soon():
            name = f"n{attempt.number}"
            call = server.ask_later(NEXT, claim=True, wait_seconds=50, agent_id=f"team/{name}")
            server.waits(call)
            with attempt:
                write_graph(idle, node("one", status="blocked", blocker_reason="no key"), node(name))
                assert claimed(record_of(server.answer(call))) == [name]


def test_what_another_server_gives_back_wakes_it(tmp_path: Path) -> None:
    write_graph(tmp_path, node("one"))
    with LiveServer(tmp_path) as holder, LiveServer(tmp_path) as server:
        for attempt in soon():
            lease = holder.claim(agent_id=f"holder/{attempt.number}")
            call = server.ask_later(NEXT, claim=True, wait_seconds=50, agent_id=f"team/{attempt.number}")
            server.waits(call)
            holder.ask(REPORT, lease_id=lease["lease_id"], state="released")
            with attempt:
                (decision,) = record_of(server.answer(call))["decisions"]
            server.ask(REPORT, lease_id=decision["lease"]["lease_id"], state="released")


def test_what_another_server_finishes_wakes_it(tmp_path: Path) -> None:
    with LiveServer(tmp_path) as holder, LiveServer(tmp_path) as server:
        for attempt in soon():
            first, then = f"a{attempt.number}", f"b{attempt.number}"
            write_graph(tmp_path, node(first), node(then, depends_on=[first]))
            lease = holder.claim(agent_id=f"holder/{first}")
            call = server.ask_later(NEXT, claim=True, wait_seconds=50, agent_id=f"team/{first}")
            server.waits(call)
            holder.ask(REPORT, lease_id=lease["lease_id"], state="completed", result={"summary": "Built"})
            with attempt:
                (decision,) = record_of(server.answer(call))["decisions"]
            assert (decision["node_id"], decision["dispatch_hints"]["inputs"]) == (
                then,
                [{"node_id": first, "summary": "Built", "artifacts": [], "evidence": []}],
            )


def test_only_one_of_those_that_wait_gets_a_node(idle: Path) -> None:
    with LiveServer(idle) as one, LiveServer(idle) as two:
        calls = {server: server.ask_later(NEXT, claim=True, wait_seconds=3) for server in (one, two)}
        for server, call in calls.items():
            server.waits(call)
        write_graph(idle, node("two"))
        answers = [record_of(server.answer(call)) for server, call in calls.items()]
        assert sorted(map(claimed, answers)) == [[], ["two"]]


def test_its_host_is_told_that_it_waits(idle: Path) -> None:
    with LiveServer(idle, era=ERAS[0]) as old, LiveServer(idle, era=ERAS[1]) as new:
        calls = {server: server.ask_later(NEXT, claim=True, wait_seconds=300, told_as="t-1") for server in (old, new)}
        for server, call in calls.items():
            told = server.receive()
            waited = told["params"].pop("progress")
            assert told == {
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": {"progressToken": "t-1", "total": 50},
            }
            assert TELLS_EVERY_S <= waited < 2 * TELLS_EVERY_S
            # Others are answered meanwhile, and the host may still give it up.
            assert server.ask(STATUS)["counts"]["nodes"] == 1
            server.notify(CANCELLED, {"requestId": call})
            server.ask(STATUS)
            assert server.stop(signal.SIGTERM) == 0
            assert [*server.others, *server.remaining()] == []


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_is_given_up_takes_nothing(idle: Path, era: str) -> None:
    with LiveServer(idle, era=era) as server, LiveServer(idle) as other:
        call = server.ask_later(NEXT, claim=True, wait_seconds=50)
        server.waits(call)
        server.notify(CANCELLED, {"requestId": call})
        server.ask(STATUS)
        write_graph(idle, node("two"))
        assert claimed(other.ask(NEXT, claim=True, wait_seconds=5)) == ["two"]
        # Nothing is due any more, so nothing is waited for at the end.
        server.end_input()
        assert [*server.others, *server.remaining()] == []
        assert server.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_whose_call_waits(idle: Path, number: signal.Signals) -> None:
    write_graph(idle, node("one"), node("two", depends_on=["one"]))
    # Answers that are due would be waited for.
    for attempt in soon(5.0):
        with LiveServer(idle) as server:
            server.claim(agent_id="team/one")
            until(lambda: statuses(idle)["one"] == "running")
            call = server.ask_later(NEXT, claim=True, wait_seconds=50, agent_id="team/two")
            server.waits(call)
            with attempt:
                assert server.stop(number) == 0
            assert statuses(idle) == {"one": "ready", "two": "ready"}
