"""What keeps a lane from an asker is known at once for most; whatever may, alone, is found all the same."""

from __future__ import annotations

from typing import Any

import pytest

from metagit_mcp.scheduling.demand import Demand
from metagit_mcp.scheduling.holdings import Holdings
from metagit_mcp.scheduling.situation import Situation, first_against, lasting
from tests.snapshots import ANYONE, HOUR, NOW, closure, lease, pause

BARE: dict[str, Any] = {"repository": "p/api", "capabilities": frozenset(), "slots": 1}
OPEN: dict[str, Any] = {"slots": None, "running": 0, "skipped_repositories": frozenset()}
HELD = Holdings([lease("x", uses={"db": 1}, exclusive=("key",), repository="p/api", touches=("src/",))])


@pytest.mark.parametrize(
    ("demanded", "found", "quota", "kind"),
    [
        ({}, {}, None, None),
        ({}, {"slots": 1, "running": 1, "observed": 1, "holdings": HELD}, 1, None),
        ({"slots": 3}, {}, None, None),
        ({"capabilities": frozenset({"gpu"})}, {}, None, "capability_missing"),
        ({"offered_to": ("w1",)}, {}, None, "not_offered"),
        ({"owner": ""}, {}, None, None),
        ({"owner": "w1"}, {}, None, "owned"),
        ({"exhausted": True}, {}, None, "budget_exhausted"),
        ({}, {"pauses": [pause("workspace")]}, None, "paused"),
        ({}, {"pauses": [pause("group", "h")]}, None, None),
        ({"exclusive": ("key",)}, {"holdings": HELD}, None, "exclusive"),
        ({"touches": ("src/",)}, {"holdings": HELD}, None, "conflicts_with"),
        ({"uses": (("db", 1),)}, {"holdings": HELD, "capacities": {"db": 1}}, None, "resource_busy"),
        ({}, {"units": (("db", 1),), "holdings": HELD, "capacities": {"db": 1}}, None, "resource_busy"),
        ({}, {"units": (("db", 1),), "closures": {"db": closure("db", NOW + HOUR)}}, None, "resource_closed"),
        ({"slots": 2}, {}, 1, "never_fits"),
        ({}, {}, 0, "never_fits"),
        ({"slots": 2}, {"slots": 2, "observed": 1}, None, "never_fits"),
        ({}, {"skipped_repositories": frozenset({"p/api"})}, None, "merge_pressure"),
        ({}, {"skipped_repositories": frozenset({"p/web"})}, None, None),
    ],
)
def test_it_is_the_first_of_all_reasons(
    demanded: dict[str, Any], found: dict[str, Any], quota: int | None, kind: str | None
) -> None:
    demand, situation = Demand(**{**BARE, **demanded}), Situation(**{**OPEN, **found})
    assert first_against(demand, situation, ANYONE, quota, "g") == kind
    every = [reason.kind for reason in lasting(demand, situation, ANYONE, quota, "g")]
    assert every[:1] == ([] if kind is None else [kind])
