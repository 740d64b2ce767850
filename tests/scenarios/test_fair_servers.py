"""Six real servers share three Groups under slots, and one of them is killed: shares and tags do not notice.

The account is made from the ledger alone, read with plain SQL; what the tags must be follows from the costs in it.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from itertools import combinations
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

from metagit_mcp.domain.replay import first_difference, fold
from metagit_mcp.domain.shares import LCM
from tests.interfaces.cli.fake_runs import WAIT_S
from tests.scenarios.at_once import finished
from tests.scenarios.attack import Server, record_of
from tests.scenarios.claiming import POLICY, told
from tests.scenarios.folding import events_in
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.application.desk import Json

# Many processes on few processors; it says only when to give up.
SLOWEST_S: Final = 3 * WAIT_S
WEIGHTS: Final = {"a": 1, "b": 2, "c": 4}
STARTS: Final = 60
KILLED_AFTER: Final = 25
# The largest cost of a node of each Group, in units.
LARGEST: Final = {"a": 3, "b": 4, "c": 5}


def asked(server: Server, tool: str, **arguments: object) -> Json:
    """What a tool of a server answers, which may take long where many start at once."""
    return record_of(
        server.answer(server.begin("tools/call", {"name": f"metagit_{tool}", "arguments": arguments}), SLOWEST_S)
    )


class Race:
    """Agents that claim and report as fast as they can, until so many nodes were started; the first is killed."""

    def __init__(self, servers: list[Server]) -> None:
        self._servers = servers
        self._lock = Lock()
        self._started = 0

    def run(self) -> None:
        threads = [Thread(target=self._work, args=(each, number)) for number, each in enumerate(self._servers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SLOWEST_S)
            assert not thread.is_alive()

    def _work(self, server: Server, number: int) -> None:
        is_victim = number == 0
        while True:
            answer = asked(server, "schedule_next", claim=True, agent_id=f"w{number}", detail="brief")
            with self._lock:
                self._started += len(answer["decisions"])
                started = self._started
            if is_victim and started >= KILLED_AFTER and answer["decisions"]:
                # Nobody reports under the lease that it has just been given: it keeps its slot.
                server.process.kill()
                return
            if started >= STARTS:
                return
            for each in answer["decisions"]:
                asked(server, "work_report", lease_id=each["lease"]["lease_id"], state="completed")


def test_six_servers_share_by_weight_and_the_death_of_one_changes_no_tag(tmp_path: Path) -> None:
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(tmp_path, clock_file=None)
    groups = {name: {"weight": weight} for name, weight in WEIGHTS.items()}
    desk.put(POLICY, {"slots": 4, "deadline_window": 0, "groups": groups})
    for name, largest in LARGEST.items():
        tokens = [1_000 * (1 + number * 7 % largest) for number in range(70)]
        desk.graph(name, *(node(f"{name}{at:02}", estimated_tokens=each) for at, each in enumerate(tokens)))
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(tmp_path)) for _ in range(6)]
        for server in servers:
            server.enter("2026-07-28")
            asked(server, "schedule_status", detail="brief", recent=0)
        Race(servers).run()
        for server in servers[1:]:
            server.end()

    starts = [each["lease"] for each in told(desk, "work_started")]
    assert len(starts) >= STARTS
    assert share_gap([(each["graph_id"], each["holding"]["cost"]) for each in starts[:STARTS]]) <= 1
    after = desk.beside(clock_file=None)
    finished(after.application.current.view())
    state = after.application.current.state
    assert first_difference(fold(events_in(desk.path("schedule/ledger.db"))), state) is None
    level = state.shares.pools[""].levels["normal"]
    cost = Counter[str]()
    for each in starts:
        cost[each["graph_id"]] += each["holding"]["cost"]
    # A Group enters one unit behind, and is charged what its nodes cost: nothing else moves its tag.
    assert {name: flow.tag for name, flow in level.flows.items()} == {
        name: (1 + cost[name]) * LCM // weight for name, weight in WEIGHTS.items()
    }


def share_gap(charges: list[tuple[str, int]]) -> float:
    """How far two Groups are apart at any instant, as a part of what the rules allow them to be (I3, no window)."""
    cost, widest = Counter[str](), 0.0
    for name, units in charges:
        cost[name] += units
        for one, other in combinations(WEIGHTS, 2):
            apart = abs(cost[one] / WEIGHTS[one] - cost[other] / WEIGHTS[other])
            widest = max(widest, apart / (LARGEST[one] / WEIGHTS[one] + LARGEST[other] / WEIGHTS[other]))
    return widest
