"""The ids that a caller may mean: those that begin so, in order, and none that it may not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.known_ids import MOST, Found
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node
from tests.unit.application.fed_scene import ME, G, scene_at

if TYPE_CHECKING:
    from pathlib import Path

    from metagit_mcp.application.known_ids import KnownIds
    from tests.unit.application.desk import Desk

COORDINATOR = Caller(role="coordinator", group_id="shop")


@pytest.fixture
def known(desk: Desk) -> KnownIds:
    desk.put("schedule/policy.json", {"agents": {"policy-agent": {"slots": 2}}})
    desk.graph("shop", node("build"), node("bake"), node("<script>"))
    desk.graph("ship", node("build"), node("load"))
    desk.start("load", "worker-1")
    return desk.application.known_ids


def of(*ids: str) -> Found:
    return Found(ids=ids, total=len(ids))


def test_graphs_and_their_nodes_are_found_by_how_they_begin(known: KnownIds) -> None:
    assert finished(known.graphs("sh")) == of("ship", "shop")
    assert finished(known.graphs("sho")) == of("shop")
    assert finished(known.graphs("x")) == of()
    assert finished(known.nodes("b", "")) == of("bake", "build")
    assert finished(known.nodes("", "ship")) == of("build", "load")
    assert finished(known.nodes("", "unknown")) == of()
    # No text becomes a value that a host puts in.
    assert finished(known.nodes("", "shop")) == of("bake", "build")


def test_agents_are_those_of_the_policy_and_those_that_work(known: KnownIds) -> None:
    assert finished(known.agents("")) == of("policy-agent", "worker-1")
    assert finished(known.agents("w")) == of("worker-1")


def test_without_a_ledger_or_a_policy_the_rest_is_found(desk: Desk) -> None:
    desk.put("schedule/policy.json", {"weights": 3})
    desk.graph("shop", node("build"))
    desk.put("schedule/ledger.db", "no ledger" * 1_000)
    assert finished(desk.application.known_ids.agents("")) == of()
    assert finished(desk.application.known_ids.graphs("")) == of("shop")


def test_no_more_are_told_than_hosts_take(desk: Desk) -> None:
    desk.graph("g", *(node(f"n{number:03}") for number in range(MOST + 1)))
    found = finished(desk.application.known_ids.nodes("n", "g"))
    assert (found.ids[0], found.ids[-1], len(found.ids), found.total) == ("n000", "n099", MOST, MOST + 1)


def test_groups_are_those_that_are_fed(tmp_path: Path) -> None:
    scene = scene_at(tmp_path)
    scene.offered(ME)
    scene.desk.graph("filed", node("a"))
    assert finished(scene.desk.application.known_ids.groups("")) == of(G)
    assert finished(scene.desk.application.known_ids.graphs("")) == of("filed", G)


def test_to_a_coordinator_its_group_is_all_there_is(known: KnownIds, desk: Desk) -> None:
    assert finished(known.graphs("")).total == 2
    own = desk.application.speaking_for(COORDINATOR).known_ids
    assert finished(own.graphs("")) == of("shop")
    assert finished(own.nodes("", "")) == of("bake", "build")
    assert finished(own.nodes("", "ship")) == of()
    assert finished(own.groups("")) == of()
    assert finished(own.agents("")) == of()
    nobody = desk.application.speaking_for(Caller(role="coordinator", group_id="unknown")).known_ids
    assert finished(nobody.graphs("")) == of()
