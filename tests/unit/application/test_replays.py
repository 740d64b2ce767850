"""The ledger read anew leads to the live state, for each Group too; where it does not, the place is named."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.errors import InvalidStateTransition, StoreUnavailable
from metagit_mcp.wire.codec import plain
from tests.groups import commands
from tests.groups.offered import CAPABLE, CODER, at_the_beginning, deliver, offering
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

Json = dict[str, Any]
G, H = "group:cli", "group:other"


@pytest.fixture
def busy(desk: Desk) -> Desk:
    """Two Groups of Events and a task graph, with work under way in each."""
    desk.graph("shop", node("api"))
    for name in (G, H):
        deliver(at_the_beginning(desk), offering(name, items=2).log, name)
        desk.claim(CODER, graph_id=name, capabilities=CAPABLE)
    desk.claim("w1", graph_id="shop")
    return desk


def verified(desk: Desk, group_id: str | None = None) -> Json:
    return plain(finished(desk.application.groups.verify(group_id)))


def kept(desk: Desk) -> Json:
    return plain(finished(desk.application.groups.snapshot()))


def test_an_empty_workspace_has_nothing_to_compare_and_nothing_to_keep(desk: Desk) -> None:
    assert verified(desk) == {
        "position": 0,
        "snapshot_position": 0,
        "same": True,
        "groups": [],
        "warnings": [],
        "next_step": "There is no snapshot yet to compare with: metagit-mcp group snapshot keeps one.",
    }
    with pytest.raises(InvalidStateTransition):
        kept(desk)
    assert desk.events() == []


def test_everything_leads_to_the_live_state(busy: Desk) -> None:
    found = verified(busy)
    assert (found["position"], found["snapshot_position"], found["same"]) == (len(busy.events()), 0, True)
    cursor = len(offering(items=2).log)
    assert found["groups"] == [{"group_id": name, "cursor": cursor, "items": 2, "same": True} for name in (G, H)]
    assert verified(busy, H)["groups"] == found["groups"][1:]


def test_a_snapshot_is_kept_and_the_next_process_goes_on_from_it(busy: Desk) -> None:
    position = len(busy.events())
    snapshot = kept(busy)
    assert snapshot["position"] == position
    assert snapshot["next_step"] == "metagit-mcp group verify compares it with the whole ledger."
    group = offering(items=2)
    before = len(group.log)
    commands.make_noise(group, "message.posted")
    deliver(busy.beside(), group.log[before:])
    for desk in (busy, busy.beside()):
        found = verified(desk)
        assert (found["position"], found["snapshot_position"], found["same"]) == (position + 1, position, True)
        assert found["next_step"] == "The ledger leads to the live state."
    assert kept(busy)["position"] == position + 1


def forged(desk: Desk, old: str, new: str) -> None:
    """Change the newest snapshot behind everybody's back."""
    path = desk.path("schedule/ledger.db")
    with closing(sqlite3.connect(path)) as ledger, ledger:
        ((body,),) = ledger.execute("SELECT body FROM snapshot").fetchall()
        text = body.decode() if isinstance(body, bytes) else body
        assert old in text
        ledger.execute("UPDATE snapshot SET body = ?", (text.replace(old, new, 1).encode(),))


def test_a_snapshot_that_is_not_what_the_events_lead_to_is_noticed_where_it_differs(busy: Desk) -> None:
    kept(busy)
    forged(busy, '"group_id":"group:cli","cursor":', '"group_id":"group:cli","cursor":9')
    fresh = busy.beside()
    found = verified(fresh)
    assert (found["same"], found["differs_at"]) == (False, "/feeds/group:cli/cursor")
    assert [(each["group_id"], each["same"], each.get("differs_at")) for each in found["groups"]] == [
        (G, False, "/feeds/group:cli/cursor"),
        (H, True, None),
    ]
    assert found["next_step"] == "metagit-mcp doctor says what to do."
    # Who asks for the other Group learns nothing of it.
    assert verified(fresh, H)["same"] is True
    assert verified(fresh, G)["same"] is False


def test_tags_are_compared_too(busy: Desk) -> None:
    kept(busy)
    live = busy.application.current.state
    (pool,) = live.shares.pools.values()
    (level,) = (each for each in pool.levels.values() if G in each.flows)
    level.flows[G] = replace(level.flows[G], tag=level.flows[G].tag + 1)
    (own,) = verified(busy, G)["groups"]
    assert own["differs_at"].startswith("/shares/pools/")
    assert verified(busy, H)["same"] is True


def test_a_process_that_is_behind_compares_what_is_read_anew(busy: Desk) -> None:
    verified(busy)
    replays = busy.application.groups._replays  # noqa: SLF001 - another process goes on between two of its steps
    group = offering(items=2)
    before = len(group.log)
    commands.make_noise(group, "message.posted")
    deliver(busy.beside(), group.log[before:])
    live = busy.application.current.state
    live.feeds[G] = replace(live.feeds[G], cursor=99)
    found = plain(replays.verify(G))
    assert (found["same"], found["position"]) == (True, len(busy.events()))


def test_a_snapshot_that_is_not_kept_is_told(busy: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteEventStore, "keep", lambda *_: None)
    with pytest.raises(StoreUnavailable):
        kept(busy)
