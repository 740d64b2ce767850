"""What is read without pydantic is what pydantic reads, to the last field; what is in doubt is left to it."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, fields
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Gt, MaxLen
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from metagit_mcp.domain.bounds import Interval, MinLen
from metagit_mcp.domain.events import EVENT_KINDS
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import TaskGraph
from metagit_mcp.domain.value import value
from metagit_mcp.wire import codec
from metagit_mcp.wire import exact as exact_module
from metagit_mcp.wire.codec import adapter, validated
from metagit_mcp.wire.exact import exact, plainly
from metagit_mcp.wire.ledger_codec import state_record
from tests.unit.adapters.reading import graph, node
from tests.unit.application.desk import Desk

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
Json = dict[str, Any]


@value
class Inner:
    """Closed, and spoken of by another name."""

    __pydantic_config__ = {"extra": "forbid", "strict": True}  # noqa: RUF012 - read by pydantic under this name

    kind: Literal["a", "b"] = field(default="a", metadata={"alias": "class", "description": "which"})
    size: int = field(default=1, metadata={"ge": 1, "le": 9})


@value
class Known:
    """Every kind of field that is read exactly."""

    name: str = field(metadata={"pattern": r"^[\w.-]+$", "min_length": 2, "max_length": 4})
    many: Annotated[int, Interval(ge=-1)] | None = None
    share: float = 0.5
    finite: float = field(default=0.5, metadata={"ge": 0, "allow_inf_nan": False})
    at: datetime | None = None
    parts: Annotated[int, Interval(ge=1), Interval(le=5)] = 3
    flag: bool = False
    texts: tuple[Annotated[str, MinLen(1)], ...] = ()
    moments: list[datetime] = field(default_factory=list)
    units: Mapping[str, int] = field(default_factory=dict)
    nested: dict[str, dict[str, Inner]] = field(default_factory=dict)
    inner: Inner | None = None
    anything: Any = None


class Odd:
    """Not a dataclass."""


@value
class Unknown:
    """Fields that are left to pydantic as soon as they are there."""

    pair: tuple[str, int] = ("", 0)
    either: int | str = 0
    above: Annotated[int, Gt(1)] = 2
    twice: Annotated[int, Interval(ge=3), Interval(ge=1, le=5)] = 3
    short: Annotated[str, MaxLen(2)] = ""
    strict: int = field(default=0, metadata={"multiple_of": 2})
    some: frozenset[str] = frozenset()


@value
class Configured:
    """A configuration that nobody here knows."""

    __pydantic_config__ = {"str_strip_whitespace": True}  # noqa: RUF012 - as above

    name: str = ""


def agrees(shape: type[Any], raw: bytes) -> bool:
    """Say whether it was read exactly; then pydantic reads the same."""
    found = exact(shape, raw)
    if found is None:
        return False
    known: TypeAdapter[Any] = adapter(shape)
    wanted = known.validate_json(raw)
    assert found == wanted
    # Numbers that are equal may be of different types.
    assert known.dump_json(found) == known.dump_json(wanted)
    return True


# As deep as pydantic reads no more, while the standard library does.
DEEP = (b"[" * 250 + b"]" * 250, b'{"a": ' * 250 + b"1" + b"}" * 250)
WHOLE = {
    "name": "a-b",
    "many": 3,
    "share": 1,
    "finite": 0.25,
    "at": "2026-12-01T12:00:00Z",
    "parts": 5,
    "flag": True,
    "texts": ["a", "bc"],
    "moments": ["2026-12-01T12:00:00.000001+00:00"],
    "units": {"x": 1},
    "nested": {"a": {"b": {"class": "b", "size": 9}}},
    "inner": {"class": "a"},
    "anything": [1, {"x": None}],
    "of_another_program": {"a": [1.5]},
}


def test_what_is_to_the_letter_is_read() -> None:
    assert agrees(Known, json.dumps(WHOLE).encode())
    assert agrees(Known, b'{"name": "ab", "many": null, "at": null, "inner": null}')
    assert agrees(Known, '{"name": "ab", "texts": ["\\u00e9", "é"]}'.encode())
    assert agrees(Unknown, b"{}")


@pytest.mark.parametrize(
    "changes",
    [
        {"name": None},
        {"name": "a"},
        {"name": "abcde"},
        {"name": "a b"},
        {"name": "ab\n"},
        {"name": "éé"},
        {"name": 7},
        {"many": -2},
        {"many": 1.0},
        {"many": True},
        {"many": "1"},
        {"share": 2**53 + 1},
        {"share": "1"},
        {"share": True},
        {"finite": -1},
        {"at": "2026-12-01 12:00"},
        {"at": "2026-12-01T12:00:00+02:00"},
        {"at": "2026-13-01T12:00:00Z"},
        {"at": "2026-12-01T24:00:00Z"},
        {"at": "2026-12-01T12:00:60Z"},
        {"at": 0},
        {"parts": 0},
        {"parts": 6},
        {"flag": 1},
        {"texts": [7]},
        {"texts": [""]},
        {"texts": "ab"},
        {"texts": {"a": 1}},
        {"moments": [None]},
        {"moments": {}},
        {"units": {"x": 1.5}},
        {"units": []},
        {"nested": {"a": {"b": {"size": 10}}}},
        {"inner": {"kind": "a"}},
        {"inner": {"class": "c"}},
        {"inner": {"class": 1}},
        {"inner": []},
        {"anything": "\ud800"},
    ],
    ids=repr,
)
def test_what_is_not_to_the_letter_is_left_to_pydantic(changes: Json) -> None:
    assert not agrees(Known, json.dumps({**WHOLE, **changes}).encode())


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{}",
        b'{"name": "ab", "name": "cd"}',
        b'{"name": "ab", "share": NaN}',
        b'{"name": "ab", "share": 1e999}',
        b'{"name": "ab", "many": ' + b"9" * 5_000 + b"}",
        b"\xef\xbb\xbf{}",
        b"\xff",
        b'{"anything": ' + b"[" * 100_000,
        *(b'{"name": "ab", "%s": %s}' % (key, deep) for key in (b"anything", b"foreign") for deep in DEEP),
    ],
    ids=lambda raw: repr(raw[:24]),
)
def test_a_text_that_is_in_doubt_is_left_to_pydantic(raw: bytes) -> None:
    assert exact(Known, raw) is None


@pytest.mark.parametrize(
    "given",
    [
        {"pair": ["a", 1]},
        {"either": 1},
        {"above": 3},
        {"twice": 3},
        {"twice": 2},
        {"short": "a"},
        {"strict": 2},
        {"some": ["a"]},
    ],
    ids=repr,
)
def test_a_type_that_is_not_known_is_left_to_pydantic(given: Json) -> None:
    assert exact(Unknown, json.dumps(given).encode()) is None
    assert exact(Configured, b"{}") is None
    assert exact(Odd, b"{}") is None


def nested(depth: int) -> bytes:
    return b'{"name": "ab", "foreign": %s, "anything": %s}' % (
        b"[" * depth + b"]" * depth,
        b'{"a": ' * depth + b"1" + b"}" * depth,
    )


def test_how_deep_a_text_may_be() -> None:
    assert agrees(Known, nested(90))
    for depth in range(90, 260, 5):
        agrees(Known, nested(depth))


def test_threads_that_meet_a_type_first_together_read_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    @value
    class Pair:
        one: int = 0
        two: int = 0

    begun, go_on = threading.Event(), threading.Event()

    def slowly(shape: type[Any]) -> Iterator[object]:
        for each in fields(shape):
            yield each
            begun.set()
            assert go_on.wait(10)

    monkeypatch.setattr(exact_module, "fields", slowly)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(exact, Pair, b'{"one": 1, "two": 2}')
        assert begun.wait(10)
        monkeypatch.setattr(exact_module, "fields", fields)
        second = exact(Pair, b'{"one": 1, "two": 2}')
        go_on.set()
        assert (first.result(10), second) == (Pair(one=1, two=2),) * 2


# --- the types that a hook reads --------------------------------------------------------------------------------------


def test_the_events_of_any_ledger_are_read_alike() -> None:
    lines = [json.loads(line) for line in (GOLDEN / "ledger_events.jsonl").read_text().splitlines()]
    left = [each["kind"] for each in lines if not agrees(EVENT_KINDS[each["kind"]], json.dumps(each["event"]).encode())]
    # Facts of a Group's log are told apart by a rule of their own.
    assert set(left) <= {"group_events_applied"}


def test_the_state_of_a_workspace_is_read_alike(tmp_path: Path) -> None:
    (tmp_path / ".metagit").mkdir()
    desk = Desk(tmp_path)
    desk.graph("g", node("a"), node("b"))
    desk.report(desk.lease("w1"), "checkpointed", checkpoint={"checkpoint_id": "c", "note": "half"})
    desk.lease("w2")
    state = desk.application.current.state
    assert agrees(LedgerState, state_record(state).splitlines()[0])
    for line in (GOLDEN / "ledger_state.jsonl").read_text().splitlines():
        agrees(LedgerState, line.encode())


scalars = st.none() | st.booleans() | st.integers(-3, 10**10) | st.floats() | st.text(max_size=4)
times = st.sampled_from(["2026-12-01T12:00:00Z", "2026-12-01T12:00:00+02:00", "2026-12-01T12:00:00", "soon"])
values = scalars | times | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=3), scalars, max_size=2)
node_fields = st.sampled_from(
    ["node_id", "title", "depends_on", "status", "priority", "deadline", "slots", "uses", "risk", "acl", "preemptible"]
)
changes = st.dictionaries(node_fields, values, max_size=3)


@given(st.lists(changes, max_size=3), st.dictionaries(st.sampled_from(["title", "status", "intent"]), values))
def test_any_graph_is_read_alike_or_left(rows: list[Json], head: Json) -> None:
    record = {**graph(*({**node(f"n{place}"), **row} for place, row in enumerate(rows))), **head}
    raw = json.dumps(record).encode()
    if not agrees(TaskGraph, raw) and not any(rows) and not head:
        raise AssertionError("a graph as programs write it is not read")


policy_keys = st.sampled_from(
    ["slots", "agent_slots", "weights", "groups", "ordering", "classes", "merge_queue_threshold"]
)
inner_keys = st.sampled_from(["priority", "high", "g", "weight", "class", "affinity"])


@given(st.dictionaries(policy_keys, values | st.dictionaries(inner_keys, values | st.dictionaries(inner_keys, values))))
def test_any_policy_is_read_alike_or_left(record: Json) -> None:
    raw = json.dumps(record).encode()
    try:
        adapter(SchedulePolicy).validate_json(raw)
    except ValidationError:
        assert exact(SchedulePolicy, raw) is None
        return
    agrees(SchedulePolicy, raw)


policies = st.builds(
    SchedulePolicy,
    slots=st.none() | st.integers(1, 9),
    groups=st.dictionaries(st.text("ab", min_size=1), st.builds(GroupPolicy, weight=st.integers(1, 16)), max_size=2),
)


@given(policies)
def test_a_policy_is_shown_as_pydantic_shows_it(policy: SchedulePolicy) -> None:
    assert plainly(policy) == adapter(SchedulePolicy).dump_python(policy, mode="json")


# --- when it is used --------------------------------------------------------------------------------------------------


def test_pydantic_is_not_loaded_for_what_is_plain_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[type[Any]] = []

    def noted(shape: type[Any]) -> TypeAdapter[Any]:
        asked.append(shape)
        return TypeAdapter(shape)

    monkeypatch.setattr(codec, "adapter", noted)
    monkeypatch.setattr(codec, "_left_to_read", [100])
    raw = b'{"name": "ab"}'
    # Where it is loaded already it is the faster of both.
    assert validated(Known, raw) == Known(name="ab")
    assert asked == [Known]
    monkeypatch.delitem(sys.modules, "pydantic")
    assert validated(Known, raw) == Known(name="ab")
    assert asked == [Known]
    # What is in doubt is left to it, and so is what comes after very much.
    assert validated(Known, b'{"name": "ab", "many": "3"}') == Known(name="ab", many=3)
    assert validated(Known, b'{"name": "ab"}' + b" " * 90) == Known(name="ab")
    assert asked == [Known] * 3


def test_json_of_our_own_is_read_without_pydantic_as_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "is_pydantic_loaded", lambda: False)
    monkeypatch.setattr(codec, "_left_to_read", [1_000])
    twice = b'{"a": 1, "a": 2}'
    assert [codec.parse_own_json(raw) for raw in (b"[1]", twice)] == [[1], {"a": 2}]
    with pytest.raises(ValueError, match="line 1"):
        codec.parse_own_json(b'"\\ud800"')
    with pytest.raises(ValueError, match="line 1"):
        codec.parse_own_json(b"[" * 900)
    # That is all that is read so.
    monkeypatch.setattr(exact_module, "parsed", None)
    assert codec.parse_own_json(b"[2]" + b" " * 100) == [2]
