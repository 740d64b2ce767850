"""The oracle of the soak notices what it is there for. Must not import any part of the package."""

from __future__ import annotations

from typing import Any

import pytest

from tests.soak import bounds
from tests.soak.account import Account, Failure, Taken
from tests.soak.histories import History
from tests.soak.place import policy
from tests.soak.rows import Row
from tests.soak.verdict import double_owners, lost_acts, lost_claims, lost_reports, unexplained

Json = dict[str, Any]
NODE = ("normal-a", "n")
UNTIL, LATER = "2026-11-30T10:00:08.000000Z", "2026-11-30T10:00:12.000000Z"


def started(
    lease_id: str, epoch: int = 1, agent_id: str = "ada", graph_id: str = NODE[0], cost: int = 1
) -> tuple[str, Json]:
    lease = {"lease_id": lease_id, "graph_id": graph_id, "node_id": NODE[1], "agent_id": agent_id}
    share = {
        "priority_class": "normal",
        "class_weight": 3,
        "group_weight": {"normal-b": 2, "normal-c": 3}.get(graph_id, 1),
    }
    pick: Json = {"satisfied": [], "levels": []}
    return "work_started", {
        "lease": {**lease, "ownership_epoch": epoch, "holding": {"cost": cost}, "expiry": {"at": UNTIL}},
        "dispatch": {"share": share, "pick": pick, "policy_revision": "r"},
    }


def completed(lease_id: str) -> tuple[str, Json]:
    return "work_completed", {"lease_id": lease_id}


def expired(lease_id: str, at: str = UNTIL) -> tuple[str, Json]:
    return "lease_expired", {"lease_id": lease_id, "at": at}


def renewed(lease_id: str, until: str = LATER) -> tuple[str, Json]:
    return "lease_renewed", {"lease_id": lease_id, "expiry": {"at": until}}


def rows(*events: tuple[str, Json]) -> list[Row]:
    return [Row(number, kind, body) for number, (kind, body) in enumerate(events, start=1)]


def taken(lease_id: str, told: float, until: float, agent_id: str = "ada") -> Taken:
    return Taken(lease_id, NODE, agent_id, 1, told - 1, told, until)


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        ((started("L1"), completed("L1")), None),
        ((started("L1"), expired("L1"), started("L2", 2, "bob")), None),
        ((started("L1"), renewed("L1"), expired("L1", LATER)), None),
        ((started("L1"), expired("L1", "2026-11-30T10:00:07.600000Z")), None),
        ((started("L1"), expired("L1", "2026-11-30T10:00:07.400000Z")), "L1 expired before"),
        ((started("L1"), renewed("L1"), expired("L1")), "L1 expired before"),
        ((started("L1"), ("work_paused", {"lease_id": "L1"}), started("L2")), None),
        ((started("L1"), started("L2", 2, "bob")), "started under L2 while L1 was live"),
        ((started("L1"), completed("L1"), started("L2", 2)), "started although it was done"),
        ((started("L1"), completed("L1"), completed("L1")), "which was not live"),
        ((started("L1"), ("work_released", {"lease_id": "L1"}), started("L1", 2)), "was given twice"),
        ((started("L1"), ("work_released", {"lease_id": "L1"}), started("L2")), "ownership 1 of ada after"),
        ((started("L1", 2),), "ownership 2 of ada after"),
    ],
)
def test_what_a_ledger_must_not_say_is_a_fault(events: tuple[tuple[str, Json], ...], fault: str | None) -> None:
    faults = History().follow(rows(*events)).faults
    assert (faults == []) is (fault is None)
    assert fault is None or fault in faults[0]


def test_a_ledger_with_a_gap_is_a_fault() -> None:
    assert History().follow([Row(2, *completed("L1"))]).faults == ["event 1 is missing"]


@pytest.mark.parametrize(
    ("earlier", "later", "found"),
    [
        # The second was granted while the first lived for certain; after its end; or perhaps before the first.
        (taken("L1", 10, 20), taken("L2", 15, 30, "bob"), 1),
        (taken("L1", 10, 14), taken("L2", 15, 30, "bob"), 0),
        (taken("L1", 10, 20), taken("L2", 10.5, 30, "bob"), 0),
    ],
)
def test_two_owners_at_once_are_found_in_the_answers(earlier: Taken, later: Taken, found: int) -> None:
    account = Account(taken={each.lease_id: each for each in (later, earlier)})
    assert len(double_owners(account)) == found
    account.may_end("L1", 12)
    assert double_owners(account) == []


@pytest.mark.parametrize("whose", ["ada", NODE])
def test_what_was_under_way_when_a_lease_was_asked_for_may_have_ended_it(whose: str | tuple[str, str]) -> None:
    account = Account(taken={each.lease_id: each for each in (taken("L1", 10, 20), taken("L2", 15, 30, "bob"))})
    ending = account.may_end(whose, 5)
    assert double_owners(account) == []
    ending.told = 9
    assert double_owners(account) == []
    ending.told = 8.5
    assert len(double_owners(account)) == 1


def test_what_was_acknowledged_and_is_not_kept_is_lost() -> None:
    account = Account()
    lease = {"lease_id": "L1", "graph_id": NODE[0], "node_id": NODE[1], "agent_id": "ada", "ownership_epoch": 1}
    one = account.take({**lease, "expires_at": "2100-01-01T00:00:00Z"}, 1, 2, "d1")
    account.report(one, "completed", {"node_status": "completed"}, 3, 4)
    account.cursors["group:auth"] = 5
    kept = History().follow(
        rows(started("L1"), completed("L1"), ("group_events_applied", {"group_id": "group:auth", "cursor": 5}))
    )
    assert (lost_claims(account, kept, {"d1"}), lost_reports(account, kept), lost_acts(account, kept, [])) == (
        [],
        [],
        [],
    )
    assert lost_claims(account, kept, set()) == [f"decision d1 of {NODE} is in no log"]
    nothing = History()
    assert [len(each) for each in (lost_claims(account, nothing, {"d1"}), lost_reports(account, nothing))] == [1, 1]
    assert lost_acts(account, nothing, []) == ["group:auth: Cursor 5, the ledger says None"]


def test_a_failure_is_explained_by_a_cut_beside_it_alone() -> None:
    account = Account(
        failures=[Failure(10, "a", 503, "STORE_UNAVAILABLE", "x"), Failure(10, "a", 200, "AUTH_REQUIRED", "y")]
    )
    assert unexplained(account, [], [9.5]) == ["y at a: 200 AUTH_REQUIRED"]
    assert len(unexplained(account, [], [50.0])) == 2


def test_a_group_that_is_given_too_much_breaks_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of 8 units, costs of one: of two equal Groups one may be given 18 more, not 19."""
    monkeypatch.setattr(bounds, "_COUNTED", {"normal": ("normal-a", "normal-d")})
    known = {**policy(4), "class_window": 0, "deadline_window": 8}

    def worst(*given: str) -> dict[str, bool]:
        events = (started(f"L{number}", number, graph_id=name) for number, name in enumerate(given))
        counted = bounds.Bounds({"r": known}).follow(rows(*events))
        assert counted.faults == []
        return {name: value <= 1 for name, (value, _) in counted.worst.items()}

    assert worst(*("normal-a", "normal-d") * 20) == {"I3": True, "I4": True}
    assert worst("normal-d", *("normal-a",) * 18) == {"I3": True, "I4": True}
    assert worst("normal-d", *("normal-a",) * 19) == {"I3": False, "I4": False}


def test_a_charge_that_is_not_what_the_policy_says_is_a_fault() -> None:
    known = {**policy(4), "class_window": 0, "deadline_window": 8}
    assert bounds.Bounds({"r": known}).follow(rows(started("L1", graph_id="high-a"))).faults == [
        "high-a was charged as ('normal', 3, 1)"
    ]
    assert len(bounds.Bounds({}).follow(rows(started("L1"))).faults) == 1
