"""Between bytes and values: compact, absent fields left out, errors in our own words."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from metagit_mcp.domain.decision import SchedulerEvent
from metagit_mcp.domain.tasks import TaskGraph, TaskNode
from metagit_mcp.wire.codec import (
    adapter,
    compact,
    first_problem,
    has_bom,
    line,
    parse_json,
    parse_leniently,
    plain,
)
from tests.snapshots import NOW, task


def test_an_adapter_is_built_once() -> None:
    assert adapter(TaskNode) is adapter(TaskNode)


def test_absent_fields_are_left_out() -> None:
    event = SchedulerEvent(event_id="1", type="X", at=NOW, payload={"a": None})
    record = {"event_id": "1", "type": "X", "at": "2026-11-29T12:00:00Z", "payload": {"a": None}, "source": "scheduler"}
    assert plain(event) == record
    assert line(event) == compact(record)
    assert plain(task("é")) == {
        "node_id": "é",
        "title": "",
        "depends_on": [],
        "status": "pending",
        "priority": 0,
        "updated_at": "",
    }


def test_compact_json_is_utf_8_on_one_line() -> None:
    assert compact({"a": ["é", 1.0, None, True], "b": "x\ny"}) == '{"a":["é",1.0,null,true],"b":"x\\ny"}'.encode()


@pytest.mark.parametrize(
    ("raw", "value"),
    [(b"{}", {}), (b"\xef\xbb\xbf[1]", [1]), (b' "a" ', "a"), (b"1e3", 1000.0), (b'{"a": 1, "a": 2}', {"a": 2})],
)
def test_json_is_read(raw: bytes, value: object) -> None:
    assert parse_json(raw) == value
    assert parse_leniently(raw) == value
    assert has_bom(raw) is raw.startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"NaN", b"[Infinity]", b'"\\ud800"', b"9" * 5_000, b"\xff", b"[" * 10_000], ids=range(8)
)
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="line 1 column"):
        parse_json(raw)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"[Infinity]", [float("inf")]),
        (b'"\\ud800"', "\ud800"),
        (b"9" * 5_000, float("inf")),
        (b"9" * 300, int("9" * 300)),
        (b"1e999", float("inf")),
    ],
    ids=range(5),
)
def test_what_only_a_field_can_be_wrong_with_is_read_leniently(raw: bytes, value: object) -> None:
    assert parse_leniently(raw) == value


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{", "Expecting property name enclosed in double quotes: line 1 column 2"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        (b"[" * 200_000, "nested too deeply"),
    ],
)
def test_what_no_reader_understands_is_refused_without_its_content(raw: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_leniently(raw)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"nodes": [{}, {}]}, ("nodes/0/node_id", "is required")),
        ({"nodes": 5}, ("nodes", "should be a list")),
        ({"nodes": [5]}, ("nodes/0", "should be an object")),
        ({"title": 5}, ("title", "should be a valid string")),
        (
            {"nodes": [{"node_id": "no id"}]},
            ("nodes/0/node_id", "must be letters, digits and '_', '.', '-' only"),
        ),
        ({"nodes": [{"node_id": ""}]}, ("nodes/0/node_id", "should have at least 1 character")),
        (
            {"nodes": [{"node_id": "a", "uses": {"a key; rm -rf": "x"}}]},
            ("nodes/0/uses/(not a name)", "should be a valid integer, unable to parse string as an integer"),
        ),
        (5, ("", "should be an object")),
    ],
)
def test_the_first_problem_in_our_own_words(record: Any, problem: tuple[str, str]) -> None:  # noqa: ANN401 - any JSON
    with pytest.raises(ValidationError) as refused:
        adapter(TaskGraph).validate_python(record)
    assert first_problem(refused.value) == problem
