"""What is written as a table comes back as it was, whatever repeats, and what is no table is named by its place."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagit_mcp.domain.feeds import Contract, FedItem, Offer
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.work import Holding, Usage, WorkItem
from metagit_mcp.wire import tables
from metagit_mcp.wire.codec import Json, compact, line, parse_json
from metagit_mcp.wire.tables import Misread, misread_at, read_groups, read_table, table_of, table_of_groups
from tests.unit.wire.test_ledger_codec import values_of

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def item(node_id: str, **known: Any) -> WorkItem:  # noqa: ANN401 - any fields
    fields_of: dict[str, Any] = {"graph_id": "g", "node_id": node_id, "state": "open", "changed_at": AT} | known
    return WorkItem(**fields_of)


def again(shape: type[Any], items: Sequence[Any]) -> list[Any]:
    """The values as they come back from their table, through its text."""
    return read_table(shape, parse_json(compact(table_of(shape, items))), len(items))


@pytest.mark.parametrize("is_loaded", [True, False])
@pytest.mark.parametrize("shape", [WorkItem, Contract, FedItem, Usage])
def test_any_values_come_back(shape: type[Any], monkeypatch: pytest.MonkeyPatch, *, is_loaded: bool) -> None:
    monkeypatch.setattr(tables, "is_pydantic_loaded", lambda: is_loaded)

    @settings(max_examples=settings().max_examples // 5)
    @given(st.data())
    def come_back(data: st.DataObject) -> None:
        # Of few that repeat, and with single fields of others: all kinds of columns.
        few = data.draw(st.lists(values_of(shape), max_size=3))
        items = data.draw(st.lists(st.sampled_from(few), max_size=8)) if few else []
        found = again(shape, items)
        assert (found, [*map(line, found)]) == (items, [*map(line, items)])

    come_back()


def test_what_all_rows_leave_at_its_default_is_not_written() -> None:
    assert table_of(Usage, [Usage(), Usage()]) == {}
    assert again(Usage, [Usage(), Usage()]) == [Usage(), Usage()]
    assert table_of(WorkItem, [item("a"), item("b")]) == {
        "graph_id": {"of": ["g"]},
        "node_id": ["a", "b"],
        "state": {"of": ["open"]},
        "changed_at": {"of": ["2026-03-01T12:00:00Z"]},
    }


def test_a_default_that_is_made_is_left_out_too() -> None:
    items = [Holding(repository="r"), Holding(repository="s")]
    assert table_of(Holding, items) == {"repository": ["r", "s"]}
    assert again(Holding, items) == items


def test_what_repeats_is_written_once() -> None:
    until, spent = Expiry(at=AT), Usage(tokens=3)
    items = [item("a", owner="x"), item("b", until=until), item("c", spent=spent, owner="x"), item("d", attempts=())]
    table = table_of(WorkItem, items)
    assert {name: table[name] for name in table.keys() - {"graph_id", "node_id", "state", "changed_at"}} == {
        "owner": {"of": ["x", None], "at": [0, 1, 0, 1]},
        "until": {"fields": {"at": {"of": ["2026-03-01T12:00:00Z"]}}, "at": [1]},
        "spent": {"fields": {"tokens": {"of": [0, 3], "at": [0, 0, 1, 0]}}},
    }
    assert table_of(WorkItem, items[:3])["owner"] == ["x", None, "x"]


def test_an_instant_keeps_its_offset() -> None:
    # Both are the same instant: what is told of them is not.
    elsewhere = AT.astimezone(timezone(timedelta(hours=2)))
    items = [item("a", changed_at=AT), item("b", changed_at=elsewhere)]
    assert [each.changed_at.isoformat() for each in again(WorkItem, items)] == [
        "2026-03-01T12:00:00+00:00",
        "2026-03-01T14:00:00+02:00",
    ]
    assert again(WorkItem, items[:1])[0].changed_at.tzinfo is UTC


def test_the_order_within_a_value_stays() -> None:
    budgets = [{"tokens": 1, "seconds": 2}, {"seconds": 2, "tokens": 1}]
    found = again(Contract, [Contract(node_id=str(at), budget=each) for at, each in enumerate(budgets)])
    assert [[*each.budget] for each in found] == [["tokens", "seconds"], ["seconds", "tokens"]]


def test_rows_share_what_they_have_in_common() -> None:
    one, other = again(WorkItem, [item("a"), item("b")])
    assert one.spent is other.spent
    offer = Offer(candidates=("x",), until=AT)
    one, other = again(FedItem, [FedItem(mission_id="m", since=AT, offer=offer)] * 2)
    assert one.offer.candidates is other.offer.candidates


# --- several Groups ---


def test_groups_come_back_in_their_order_with_those_that_have_nothing() -> None:
    groups: dict[str, dict[str, WorkItem]] = {
        "z": {"b": item("b", graph_id="z"), "a": item("a", graph_id="z")},
        "empty": {},
        "a": {"b": item("b", graph_id="a")},
    }
    table = parse_json(compact(table_of_groups(WorkItem, groups, "graph_id")))
    found = {
        name: {each.node_id: each for each in items} for name, items in read_groups(WorkItem, table, 3, "graph_id")
    }
    assert (found, [*found], [*found["z"]]) == (groups, [*groups], ["b", "a"])
    nothing = table_of_groups(WorkItem, {"empty": {}}, "graph_id")
    assert nothing == {"of": {"empty": 0}, "fields": {}}
    assert list(read_groups(WorkItem, nothing, 0, "graph_id")) == [("empty", [])]
    assert list(read_groups(WorkItem, None, 0)) == []


def test_there_are_no_more_rows_than_there_may_be() -> None:
    table = {"of": {"g": 10**9}, "fields": {"node_id": {"of": ["a"]}}}
    with pytest.raises(Misread, match=r"^of$"):
        list(read_groups(Contract, table, 100))


# --- what is none ---

GOOD: Json = {"node_id": ["a", "b"]}
WRONG: list[tuple[Json, str]] = [
    ({"colour": ["red", "red"]}, "colour"),
    ({"node_id": ["a", "b"], "title": ["t", 7]}, "title"),
    ({"node_id": ["a"]}, ""),
    ({"title": ["a", "b"]}, ""),
    ({**GOOD, "title": {"of": []}}, "title"),
    ({**GOOD, "title": {"of": ["s", "t"]}}, "title"),
    ({**GOOD, "title": {"of": ["s", "t"], "at": [0, 2]}}, "title"),
    ({**GOOD, "title": {"of": ["s", "t"], "at": [0, -1]}}, "title"),
    ({**GOOD, "title": {"of": ["s", "t"], "at": [0, True]}}, "title"),
    ({**GOOD, "title": {"of": ["s", "t"], "at": [0]}}, ""),
    ({**GOOD, "title": {"at": [0, 0]}}, "title"),
    ({**GOOD, "title": "st"}, "title"),
    ({**GOOD, "deadline": ["soon", None]}, "deadline"),
    ({**GOOD, "deadline": {"of": ["2026-03-01T12:00:00Z", 7], "at": "01"}}, "deadline"),
]


@pytest.mark.parametrize(("table", "where"), WRONG)
def test_a_table_that_is_none_is_named(table: Json, where: str) -> None:
    with pytest.raises(Misread) as caught, misread_at(""):
        read_table(Contract, table, 2)
    assert str(caught.value).strip("/") == where


@pytest.mark.parametrize(
    ("column", "where"),
    [
        ({"fields": {"candidates": [["x"], ["y"]], "until": {"of": ["soon"]}}}, "offer/until"),
        ({"fields": {"candidates": {"of": [["x"]]}, "until": {"of": [AT.isoformat()]}}, "at": [0, 2]}, "offer"),
        ({"at": [0]}, "offer"),
        ([None, None, None], ""),
    ],
)
def test_an_inner_table_that_is_none_is_named(column: object, where: str) -> None:
    table = {"mission_id": {"of": ["m"]}, "since": {"of": [AT.isoformat()]}, "offer": column}
    with pytest.raises(Misread) as caught, misread_at(""):
        read_table(FedItem, table, 2)
    assert str(caught.value).strip("/") == where


def test_every_row_has_what_may_not_lack() -> None:
    columns = {each.name: {"of": ["g"]} for each in fields(WorkItem) if each.name in {"graph_id", "node_id"}}
    with pytest.raises(Misread) as caught, misread_at("items"):
        read_table(WorkItem, {**columns, "spent": {"fields": {}, "at": [0]}}, 2)
    assert str(caught.value) == "items/spent"
