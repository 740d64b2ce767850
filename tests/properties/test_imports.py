"""Whatever a list holds: it is read or refused in our own words, nothing is lost, and twice is as good as once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.application.imports.merge import Merge, merged
from metagit_mcp.application.imports.nodes import ListedNodes, listed_nodes
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.graph_codec import load_record
from metagit_mcp.wire.lists.backlog import read_backlog
from metagit_mcp.wire.lists.beads import read_beads
from metagit_mcp.wire.lists.imported import Imported, imported_record, read_imported
from metagit_mcp.wire.lists.listed import ListFile
from metagit_mcp.wire.lists.taskmaster import read_taskmaster
from tests.properties.list_texts import ANYTHING, BACKLOG, BEADS, TASKMASTER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metagit_mcp.wire.lists.listed import SourceList

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
NEVER = Imported(system="beads", source="x", tag="", records={})


def lists(read: Callable[[], Sequence[SourceList]]) -> Sequence[SourceList]:
    """The lists that a parser finds; none where it refuses in our own words."""
    try:
        return read()
    except InvalidInput:
        return ()


ANY_LISTS = st.one_of(
    BEADS.map(lambda file: lists(lambda: [read_beads(file, "shop")])),
    TASKMASTER.map(lambda file: lists(lambda: read_taskmaster(file))),
    BACKLOG.map(lambda files: lists(lambda: [read_backlog(files, "shop")])),
)


def into(graph: object, listed: ListedNodes, former: Imported, now: datetime = NOW) -> Merge:
    # As it stands in a file.
    record = None if graph is None else json.loads(json.dumps(graph))
    return merged(record, listed, former, ("g", "G"), LedgerState(), now)


def kept(merge: Merge) -> Imported:
    imported = Imported(system="beads", source="x", tag="", records=merge.records)
    return read_imported(json.loads(json.dumps(imported_record(imported))))


@given(ANY_LISTS)
def test_the_second_import_of_a_list_changes_nothing(found: Sequence[SourceList]) -> None:
    for source in found:
        first = into(None, listed_nodes(source), NEVER)
        nodes = listed_nodes(source, first.records)
        again = into(first.whole, nodes, kept(first), LATER)
        assert (again.record, again.records) == (None, first.records)
        assert {each.outcome for each in again.outcomes} <= {"unchanged"}
        # As if what was imported had not been kept: a kill between both.
        assert into(first.whole, nodes, NEVER, LATER).records == first.records


@given(ANY_LISTS, ANY_LISTS)
def test_a_later_import_accounts_for_every_record(one: Sequence[SourceList], other: Sequence[SourceList]) -> None:
    for before, after in zip(one, other, strict=False):
        first = into(None, listed_nodes(before), NEVER)
        nodes = listed_nodes(after, first.records)
        second = into(first.whole, nodes, kept(first), LATER)
        told = [each for each in second.outcomes if each.outcome != "vanished"]
        assert [each.node_id for each in told] == [each.node_id for each in nodes.nodes]
        third = into(second.whole, nodes, kept(second), LATER)
        assert third.record is None


@given(ANY_LISTS)
def test_what_is_imported_can_be_read_as_a_graph(found: Sequence[SourceList]) -> None:
    for source in found:
        listed = listed_nodes(source)
        loaded = load_record("g", into(None, listed, NEVER).whole)
        assert loaded.graph is not None
        assert (loaded.defects, loaded.warnings) == ({}, ())
        assert [node.node_id for node in loaded.graph.nodes] == [node.node_id for node in listed.nodes]


@given(ANY_LISTS)
def test_every_record_and_every_edge_is_accounted_for(found: Sequence[SourceList]) -> None:
    for source in found:
        listed = listed_nodes(source)
        used, ignored = (sum(each.count for each in counts) for counts in (listed.edges_used, listed.edges_ignored))
        assert used + ignored == sum(len(record.edges) for record in source.records)
        aside = sum(each.count for each in listed.records_ignored)
        assert len(listed.nodes) + aside == len(source.records) + sum(source.passed_over.values())
        for record, node in ((each, node) for each in source.records for node in listed.nodes):
            if record.record_id == node.node_id and any(edge.use == "held" for edge in record.edges):
                assert node.fields["status"] not in {"pending", "ready"}


@given(BEADS)
def test_no_line_and_no_edge_of_beads_is_lost(file: ListFile) -> None:
    for source in lists(lambda: [read_beads(file, "shop")]):
        assert len(source.records) + sum(source.passed_over.values()) == file.raw.count(b"\n")
        rows = {number: json.loads(line) for number, line in enumerate(file.raw.splitlines(), start=1)}
        for record in source.records:
            given_edges = rows[record.place.line or 0].get("dependencies", [])
            expected = len(given_edges) if isinstance(given_edges, list) else int(given_edges is not None)
            assert len(record.edges) == expected


@given(ANYTHING)
def test_no_bytes_at_all_break_a_parser(raw: bytes) -> None:
    file = ListFile(name="x", raw=raw)
    lists(lambda: [read_beads(file, "shop")])
    lists(lambda: read_taskmaster(file))
    pages = [ListFile(name="tasks/1.md", raw=text) for text in (raw, b"---\n" + raw + b"\n---\n")]
    lists(lambda: [read_backlog(pages, "shop")])
    lists(lambda: [read_backlog([ListFile(name="config.yml", raw=raw)], "shop")])
