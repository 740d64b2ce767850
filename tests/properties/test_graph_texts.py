"""Any text of a graph, however it is written or damaged, leads to the same on the short way and on the long one."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.test_event_texts import documents, words
from tests.properties.test_exact_texts import instants, listed, numbers, texts, written
from tests.unit.wire.test_graph_codec import FULL
from tests.unit.wire.test_plain_graphs import agrees

ids = st.sampled_from(['"a"', '"b"', '"a.b-c_1"', '"\\u0061"', '"."', '"a/b"', '"\u00e9"', '"\u00bd"', '"a "', '""'])
units = st.lists(st.tuples(texts, numbers), max_size=2).map(lambda pairs: f"{{{', '.join(map(': '.join, pairs))}}}")
# What may be meant for each field of a node, whether it fits or not.
meant = {
    "node_id": ids,
    "title": texts,
    "depends_on": listed(ids),
    "status": st.sampled_from(['"ready"', '"completed"', '"else"', "null"]),
    "acl": st.just('{"acl_commands": ["x"], "branch": null}') | documents,
    "priority": numbers,
    "estimated_tokens": numbers | words,
    "deadline": instants,
    "not_before": instants,
    "risk": st.sampled_from(['"none"', '"external"', '"much"']),
    "capabilities": listed(texts),
    "slots": numbers,
    "preemptible": words,
    "uses": units,
    "foreign": documents,
}
fields = st.sampled_from(sorted(meant)).flatmap(lambda name: st.tuples(st.just(name), meant[name] | documents))
rows = st.tuples(ids, st.lists(fields, max_size=3)).map(lambda row: written([("node_id", row[0]), *row[1]]))
heads = st.lists(st.tuples(st.sampled_from(["title", "intent", "graph_id", "foreign"]), documents), max_size=1)
WHOLE = json.dumps(FULL, indent=1).encode()


@given(listed(rows), heads)
def test_any_graph_leads_to_the_same_on_either_way(nodes: str, head: list[tuple[str, str]]) -> None:
    agrees(written([*head, ("nodes", nodes)]).encode("utf-8", "surrogatepass"))


@given(st.binary(max_size=8), st.integers(0, len(WHOLE)))
def test_a_damaged_graph_is_read_alike(bad: bytes, at: int) -> None:
    agrees(WHOLE[:at] + bad + WHOLE[at + len(bad) :])
