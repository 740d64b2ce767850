"""What msgspec reads of a graph is what pydantic reads, to the last field; what is in doubt is left to pydantic."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.adapters.kept import NO_NODES, graph_lesson
from metagit_mcp.domain.tasks import OWN_NODE_FIELDS
from metagit_mcp.wire import graph_codec, plain_graphs
from metagit_mcp.wire.graph_codec import load_graph
from metagit_mcp.wire.json_alike import DEEPEST
from metagit_mcp.wire.plain_graphs import plain_graph
from metagit_mcp.wire.slips import SMALL
from tests.unit.adapters.reading import graph, node
from tests.unit.wire.test_graph_codec import FULL

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import LoadedGraph

Json = dict[str, Any]
FULL_NODE = FULL["nodes"][0]


def loaded(raw: bytes, *, far: bool) -> LoadedGraph:
    """The graph in a text, `far` beyond the texts that are read without msgspec."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(graph_codec, "_left_to_read", [0 if far else 2**40])
        return load_graph("g", raw)


def agrees(raw: bytes) -> bool:
    """Say whether msgspec read it; what is made of the text is the same in any case, to the types of its numbers."""
    assert repr(loaded(raw, far=True)) == repr(loaded(raw, far=False))
    return plain_graph(raw) is not None


def one(**changes: object) -> bytes:
    return json.dumps(graph({**node("a"), **changes}), ensure_ascii=False).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    "raw",
    [
        json.dumps(FULL).encode(),
        json.dumps(FULL, indent=2).encode(),
        b"{}",
        b'{"nodes": []}',
        one(title="ä\u2028\U0001f600", foreign="ö", uses={"ü": 10**40}),
        one(deadline="2026-12-01T12:00:00.123456+02:00", not_before="2026-12-01t12:00:00z"),
        one(deadline="2026-12-01T12:00:00", not_before="0001-01-01T00:00:00+01:00"),
        one(status="who knows", node_id="a" * 255, foreign=1e300),
        one(foreign="2026-12-01T12:00:00.1234567Z", priority=-1_000_000, slots=1),
        b'{"nodes": [{"node_id": "a", "priority": 1, "priority": 2, "n\\u006fde_id": "b"}, {"node_id": "b"}]}',
    ],
    ids=lambda raw: repr(raw[:60]),
)
def test_a_graph_as_programs_write_it_is_read(raw: bytes) -> None:
    assert agrees(raw)


@pytest.mark.parametrize(
    "changes",
    [
        {"node_id": "é"},
        {"node_id": "."},
        {"node_id": ".."},
        {"node_id": "a b"},
        {"node_id": " a"},
        {"node_id": "a\n"},
        {"node_id": ""},
        {"node_id": "a" * 256},
        {"node_id": None},
        {"title": None},
        {"title": 1},
        {"title": "\ud800"},
        {"foreign": "\ud800"},
        {"depends_on": "a"},
        {"priority": True},
        {"priority": 1_000_001},
        {"priority": "1"},
        {"slots": 0},
        {"estimated_tokens": 10**30},
        {"capabilities": [""]},
        {"uses": {"a": 1.5}},
        {"preemptible": 1},
        {"risk": "some"},
        {"deadline": 0},
        {"deadline": "2026-12-01"},
        {"deadline": "2026-12-01T12:00:00.1234567Z"},
        {"not_before": "2026-12-01T12:00:00.9999999Z"},
        {"foreign": "[", "title": "]"},
        {"acl": {"acl_commands": 1}},
    ],
    ids=repr,
)
def test_what_is_in_doubt_is_left_to_pydantic(changes: Json) -> None:
    assert not agrees(one(**changes))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{} {}",
        b'\xef\xbb\xbf{"nodes": []}',
        b'{"foreign": "\xff"}',
        b'{"\xed\xa0\x80": 1}',
        b'{"foreign": NaN}',
        b'{"foreign": [1,]}',
        b'{"foreign": "\x01"}',
        b'{"foreign": %s}' % (b"[" * 100_000),
        b'{"nodes": {"node_id": "a"}}',
        b'{"nodes": [{"node_id": "a", "deadline": "2026-12-31T23:59:59.999999\\u0039Z"}]}',
        b'{"nodes": [{"node_id": "a", "deadline": "2026-12-31T23:59:59\\u002E9999999Z"}]}',
    ],
    ids=lambda raw: repr(raw[:24]),
)
def test_a_text_that_is_in_doubt_is_left_to_pydantic(raw: bytes) -> None:
    assert not agrees(raw)


def test_a_number_that_only_pydantic_refuses_leads_to_the_same_graph() -> None:
    assert agrees(b'{"nodes": [{"node_id": "a", "foreign": %s}]}' % (b"9" * 5_000))


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":[],"b":', b"}]")], ids=repr)
@pytest.mark.parametrize("deep", [10, 30, 150, 250, DEEPEST - 3, DEEPEST - 2, 600, 900])
def test_a_text_of_any_depth_leads_to_the_same_graph(deep: int, opening: bytes, closing: bytes) -> None:
    foreign = opening * deep + b"1" + closing * deep
    for more in (b"", b" " * SMALL):
        assert agrees(b'{"nodes": [{"node_id": "a", "foreign": %s}]}' % foreign + more) is (deep < 20)


def test_brackets_in_a_text_are_in_doubt() -> None:
    assert agrees(one(title="[" * 9 + "]" * 9))
    assert not agrees(one(title="["))


def test_what_nodes_say_alike_is_kept_once() -> None:
    found = plain_graph(json.dumps(graph(*(node(name, repository="p/api") for name in "ab"))).encode())
    assert found is not None
    first, second = found[0].nodes
    assert first.repository is second.repository
    assert first.updated_at is second.updated_at


OWN: list[tuple[Json, bool]] = [({name: FULL_NODE[name]}, True) for name in OWN_NODE_FIELDS]


@pytest.mark.parametrize(("changes", "has_own"), [({}, False), ({"priority": 1, "slots": None}, False), *OWN], ids=repr)
def test_whether_a_field_of_ours_is_there_is_known(changes: Json, *, has_own: bool) -> None:
    raw = one(**changes)
    assert agrees(raw)
    assert [loaded(raw, far=far).has_own for far in (True, False)] == [has_own, True]
    assert graph_lesson(loaded(raw, far=True), NO_NODES) == graph_lesson(loaded(raw, far=False), NO_NODES)


def test_msgspec_reads_what_comes_after_very_much(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    monkeypatch.setattr(plain_graphs, "plain_graph", asked.append)
    raw = one()
    monkeypatch.setattr(graph_codec, "_left_to_read", [2 * len(raw)])
    first, second, third = (load_graph("g", raw) for _ in range(3))
    assert first == second == third
    assert asked == [raw]
