"""What is other than before is noticed, whoever changed it; who may be told follows from who may read it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.application.access import TokenWish
from metagit_mcp.application.caller import Caller
from metagit_mcp.application.news.topics import Topic, may_hear
from metagit_mcp.errors import MetagitError
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW, Desk
from tests.unit.application.fed_scene import ME, G, scene_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from metagit_mcp.application.news.noticing import Noticing

STATUS, POLICY, DECISIONS = Topic(kind="status"), Topic(kind="policy"), Topic(kind="decisions")
GRAPH = Topic(kind="graph", name="g")
FED = {Topic(kind="graph", name=G), Topic(kind="group", name=G), Topic(kind="outbox", name=G)}


def noticing(desk: Desk) -> Noticing:
    """Another process that looks on."""
    found = desk.beside().application.noticing
    finished(found.begin())
    return found


def noticed(desk: Desk, step: Callable[[], object]) -> set[Topic]:
    """What one step changes; and that it is noticed once."""
    looking = noticing(desk)
    step()
    news = finished(looking.news())
    assert finished(looking.news()) == frozenset()
    return set(news)


@pytest.fixture
def worked(desk: Desk) -> Desk:
    """A graph with work to take, in a workspace with a ledger."""
    desk.graph("g", node("a"), node("b"))
    desk.graph("h", node("z"))
    desk.pause("agent", "nobody")
    return desk


def test_nothing_is_noticed_where_nothing_happened(worked: Desk) -> None:
    assert noticed(worked, lambda: None) == set()


def test_a_claim_is_news_of_the_status_the_decisions_and_its_graph(worked: Desk) -> None:
    assert noticed(worked, worked.lease) == {STATUS, DECISIONS, GRAPH}


def test_advice_is_news_of_the_decisions_where_it_is_logged(worked: Desk) -> None:
    assert noticed(worked, lambda: worked.next(preview=True)) == set()
    assert noticed(worked, worked.next) == {STATUS, DECISIONS}


def test_a_change_of_the_policy_is_news_of_it(worked: Desk) -> None:
    assert noticed(worked, lambda: worked.policy("set", priority=2.0)) == {STATUS, POLICY}


def test_an_edit_of_a_file_is_news_of_its_graph_alone(worked: Desk) -> None:
    assert noticed(worked, lambda: worked.set_row("a", title="another")) == {STATUS, GRAPH}


def test_graphs_that_come_and_go_are_news(worked: Desk) -> None:
    path = worked.path("tasks/graphs/new.json")
    new = {STATUS, Topic(kind="graph", name="new")}
    assert noticed(worked, lambda: worked.graph("new", node("x"))) == new
    assert noticed(worked, path.unlink) == new


def test_signs_of_life_are_no_news(worked: Desk) -> None:
    lease_id = worked.lease()
    assert noticed(worked, lambda: worked.report(lease_id, "running")) == set()


def test_a_lease_that_runs_out_is_news_though_nobody_did_anything(worked: Desk) -> None:
    worked.start("a", "w1", lease_seconds=60)
    assert noticed(worked, lambda: worked.wait(60)) == {STATUS, GRAPH}


@pytest.mark.parametrize(
    "fields", [{"not_before": "2026-12-01T12:01:00Z"}, {"deadline": "2026-12-08T12:01:00Z"}], ids=["later", "due"]
)
def test_what_comes_with_time_alone_is_news(desk: Desk, fields: dict[str, str]) -> None:
    desk.put("schedule/policy.json", {"deadline_horizon_seconds": 7 * 86_400})
    desk.graph("g", node("a", **fields))
    assert noticed(desk, lambda: desk.wait(59)) == set()
    assert noticed(desk, lambda: desk.wait(1)) == {STATUS}


def test_the_end_of_a_pause_is_news(worked: Desk) -> None:
    worked.pause("workspace", until=NOW + timedelta(seconds=60))
    assert noticed(worked, lambda: worked.wait(60)) == {STATUS}


def test_a_policy_that_cannot_be_used_is_no_obstacle(worked: Desk) -> None:
    looking = noticing(worked)
    worked.put("schedule/policy.json", {"weights": 3})
    assert finished(looking.news()) == {STATUS, POLICY}
    worked.set_row("a", title="another")
    assert finished(looking.news()) == {STATUS, GRAPH}


def test_whoever_is_asked_to_pause_hears_it_by_the_status(desk: Desk) -> None:
    groups = {"g": {"class": "low"}, "hot": {"class": "critical"}}
    desk.put("schedule/policy.json", {"slots": 1, "groups": groups, "preemption": {"min_quantum_seconds": 0}})
    desk.graph("g", node("a", estimated_tokens=4000))
    desk.report(desk.lease("victim"), "running", usage={"tokens": 4000})
    desk.graph("hot", node("u"))

    def asks() -> None:
        assert desk.taken("other") == []

    assert noticed(desk, asks) == {STATUS, GRAPH}
    assert desk.status()["running"][0]["preempt_requested"] is True


def test_what_a_group_says_is_news_of_it_and_of_its_outbox(tmp_path: Path) -> None:
    scene = scene_at(tmp_path)
    scene.offered()
    assert noticed(scene.desk, lambda: scene.offered(ME)) == {STATUS, *FED}


def test_what_agents_do_is_news_of_the_group_and_of_no_other(tmp_path: Path) -> None:
    scene = scene_at(tmp_path)
    item = scene.offered(ME)
    scene.desk.graph("g", node("a"))
    assert noticed(scene.desk, lambda: scene.desk.start("a", "someone")) == {STATUS, GRAPH}
    assert noticed(scene.desk, lambda: scene.accept(item)) == {STATUS, *FED}


def test_a_ledger_that_cannot_be_read_is_news_once_and_ends_nothing(worked: Desk) -> None:
    looking = noticing(worked)
    ledger = worked.path("schedule/ledger.db")
    for name in ("ledger.db-wal", "ledger.db-shm"):
        worked.path(f"schedule/{name}").unlink(missing_ok=True)
    ledger.write_bytes(b"no ledger" * 1_000)
    told = [finished(looking.news()), finished(looking.news())]
    ledger.unlink()
    told.append(finished(looking.news()))
    assert [STATUS in each for each in told] == [True, False, True]


# --- who may be told -------------------------------------------------------------------------------------------------

OWN = [Topic(kind=kind, name="g") for kind in ("graph", "group", "outbox")]
OTHERS = [Topic(kind=kind, name="h") for kind in ("graph", "group", "outbox")]
SCHEMA = Topic(kind="schema", name="policy")
EVERY = [STATUS, POLICY, DECISIONS, *OWN, *OTHERS, SCHEMA]


@pytest.mark.parametrize(
    ("caller", "heard"),
    [
        (None, EVERY),
        (Caller(), EVERY),
        (Caller(role="viewer"), EVERY),
        (Caller(role="agent"), EVERY),
        (Caller(role="operator"), EVERY),
        (Caller(role="coordinator", group_id="g"), [*OWN, SCHEMA]),
        (Caller(role="coordinator"), [SCHEMA]),
    ],
)
def test_who_may_read_it_may_hear_of_it(caller: Caller | None, heard: list[Topic]) -> None:
    assert [each for each in EVERY if may_hear(caller, each)] == heard


def test_a_token_that_is_no_longer_good_is_told_nothing(desk: Desk) -> None:
    access, looking = desk.application.access, desk.application.noticing
    issued = finished(access.issue(TokenWish(subject="ada", role="viewer", days=1), "ada"))
    caller = Caller(role="viewer", token_id=issued.token.token_id)
    finished(looking.begin())
    assert looking.is_good(None)
    assert looking.is_good(Caller())
    assert looking.is_good(caller)
    assert not looking.is_good(replace(caller, token_id=issued.next_step))
    desk.set_clock(NOW + timedelta(days=1), 0)
    assert not looking.is_good(caller)
    desk.set_clock(NOW, 0)
    finished(access.revoke(issued.token.token_id, "ada"))
    assert not looking.is_good(caller)


def test_nobody_is_sent_away_while_no_token_can_be_read(desk: Desk) -> None:
    access, looking = desk.application.access, desk.application.noticing
    issued = finished(access.issue(TokenWish(subject="ada", role="viewer"), "ada"))
    caller = Caller(role="viewer", token_id=issued.token.token_id)
    finished(looking.begin())
    ledger = desk.path("schedule/ledger.db")
    whole = {path: path.read_bytes() for path in ledger.parent.glob("ledger.db*")}
    for path in whole:
        path.unlink()
    ledger.write_bytes(b"no ledger" * 1_000)
    with pytest.raises(MetagitError):
        desk.pause("agent", "nobody")
    finished(looking.news())
    assert looking.is_good(caller)
    for path, content in whole.items():
        path.write_bytes(content)
    finished(looking.news())
    assert looking.is_good(caller)
    assert not looking.is_good(replace(caller, token_id=issued.next_step))
