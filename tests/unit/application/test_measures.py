"""What a server tells of its workspace in numbers are those of the status and of the ledger."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.application.caller import Caller
from metagit_mcp.errors import AuthForbidden
from metagit_mcp.wire.measures import Standing
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

VIEWER = Caller(role="viewer", surface="http")


def standing(desk: Desk, caller: Caller = VIEWER) -> Standing | None:
    return finished(desk.application.speaking_for(caller).measures.standing())


def test_it_says_how_much_there_is_of_what(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b", depends_on=["a"]), node("c"), node("d", status="completed"))
    desk.lease()
    found = standing(desk)

    assert found is not None
    assert {state: count for state, count in found.nodes.items() if count} == {
        "running": 1,
        "eligible": 1,
        "waiting": 1,
        "finished": 1,
    }
    assert replace(found, nodes={}, position=0) == Standing(
        nodes={}, ready=1, runnable=1, groups=1, needs_person=0, leases=1, position=0
    )
    assert found.position == len(desk.events())


def test_nothing_is_told_of_a_workspace_that_cannot_be_read(desk: Desk) -> None:
    desk.graph("g", node("a"))
    (desk.root / ".metagit/schedule").mkdir(exist_ok=True)
    (desk.root / ".metagit/schedule/policy.json").write_text("{")

    assert standing(desk) is None


def test_a_coordinator_sees_nothing_of_the_whole(desk: Desk) -> None:
    with pytest.raises(AuthForbidden):
        standing(desk, Caller(role="coordinator", group_id="g", surface="http"))
