"""A graph is written whole or not at all, loses nothing that others wrote, and the files beside it follow."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from metagit_mcp.adapters.graph_store import GraphFileStore
from metagit_mcp.adapters.locks import locked
from metagit_mcp.errors import GraphInvalid, InvalidInput, MetagitError, StoreUnavailable
from tests.unit.adapters.children import finish, start
from tests.unit.adapters.reading import AT, Json, Reader, graph, kept_of, node, put, put_graph, state_of, without
from tests.unit.adapters.second import run_as_nobody

Change = Callable[[Json | None], Json | None]


@pytest.fixture
def store(root: Path) -> GraphFileStore:
    return GraphFileStore(str(root))


def setting(**fields: object) -> Change:
    """Set fields of every node."""

    def change(record: Json | None) -> Json:
        assert record is not None
        return {**record, "nodes": [{**row, **fields} for row in record["nodes"]]}

    return change


def removing(*fields: str) -> Change:
    def change(record: Json | None) -> Json:
        assert record is not None
        return without(record, *fields)

    return change


def index_of(root: Path) -> Any:  # noqa: ANN401 - any JSON
    return json.loads((root / ".metagit/tasks/index.json").read_text())


def row(graph_id: str, **fields: object) -> Json:
    return {
        "graph_id": graph_id,
        "title": graph_id,
        "status": "active",
        "objective_id": None,
        "updated_at": AT,
        **fields,
    }


# --- the graph -------------------------------------------------------------------------------------------------


def test_a_new_graph_is_written_as_metagit_writes_it(store: GraphFileStore, root: Path, graphs: Path) -> None:
    document = graph(node("n", title="Größe"), graph_id="名前")
    seen: list[Json | None] = []

    def change(record: Json | None) -> Json:
        seen.append(record)
        return document

    assert store.revise("名前", change) == ()
    assert seen == [None]
    path = graphs / "名前.json"
    assert path.read_text() == json.dumps(document, indent=2) + "\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert index_of(root) == {"graphs": [row("名前")]}
    assert kept_of(root) is None


def test_what_others_wrote_stays_in_its_place(store: GraphFileStore, graphs: Path) -> None:
    document = {"zzz": [1.50, 12345678901234567890123], **graph({**node("n"), "aaa": {"deep": None}})}
    path = put(graphs / "g.json", document)
    path.chmod(0o640)
    store.revise("g", setting(priority=3))
    document["nodes"][0]["priority"] = 3
    assert path.read_text() == json.dumps(document, indent=2) + "\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_change_that_says_nothing_writes_nothing(store: GraphFileStore, root: Path, graphs: Path) -> None:
    path = put_graph(graphs, "g", node("n"))
    before = state_of(path)
    assert store.revise("g", lambda _: None) == ()
    assert state_of(path) == before
    assert not (root / ".metagit/tasks/index.json").exists()


def test_a_change_that_refuses_writes_nothing_and_lets_go_of_the_lock(store: GraphFileStore, graphs: Path) -> None:
    path = put_graph(graphs, "g", node("n"))
    before = state_of(path)

    def refuse(_: Json | None) -> Json:
        raise InvalidInput("no", field="x")

    with pytest.raises(InvalidInput):
        store.revise("g", refuse)
    assert state_of(path) == before
    store.revise("g", setting(priority=1))
    assert state_of(path) != before


@pytest.mark.parametrize("graph_id", ["", ".", "..", "../g", "a/b", "a b", "x" * 256, "/etc/passwd", "a\0b"])
def test_an_id_that_names_no_file_is_refused(graph_id: str, store: GraphFileStore, root: Path) -> None:
    before = sorted(root.rglob("*"))
    with pytest.raises(InvalidInput) as caught:
        store.revise(graph_id, lambda _: graph())
    assert caught.value.details == {"field": "graph_id"}
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"a": 1', b"\xff", b'{"a": NaN}', b'{"a":' * 100_000])
def test_a_file_that_is_no_document_is_not_written(raw: bytes, store: GraphFileStore, graphs: Path) -> None:
    (graphs / "g.json").write_bytes(raw)
    with pytest.raises(GraphInvalid) as caught:
        store.revise("g", setting(priority=1))
    assert (caught.value.code, caught.value.details) == ("GRAPH_INVALID", {"graph_id": "g"})
    assert (graphs / "g.json").read_bytes() == raw


def test_a_link_out_of_the_workspace_is_not_followed(store: GraphFileStore, graphs: Path, tmp_path: Path) -> None:
    outside = put(tmp_path / "outside.json", graph(node("n")))
    before = outside.read_bytes()
    (graphs / "g.json").symlink_to(outside)
    with pytest.raises(GraphInvalid):
        store.revise("g", setting(priority=1))
    assert outside.read_bytes() == before


def test_a_number_without_a_word_in_json_is_not_written(store: GraphFileStore, graphs: Path) -> None:
    path = put_graph(graphs, "g", node("n"))
    before = path.read_bytes()
    with pytest.raises(GraphInvalid):
        store.revise("g", setting(mine=float("inf")))
    assert path.read_bytes() == before


def test_a_lock_that_another_tool_holds_is_waited_for_and_then_said(
    store: GraphFileStore, graphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_graph(graphs, "g", node("n"))
    holder = start("hold", graphs, graphs / "g.json.lock")
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    monkeypatch.setattr("metagit_mcp.adapters.graph_store.locked", partial(locked, timeout=0.05))
    with pytest.raises(StoreUnavailable) as caught:
        store.revise("g", setting(priority=1))
    assert caught.value.retryable is True
    finish(holder)


def test_where_nothing_may_be_written_it_says_so(root: Path, graphs: Path) -> None:
    put_graph(graphs, "g", node("n")).chmod(0o644)
    code, message = run_as_nobody("write", root, "graph")
    assert (code, message) == ("READ_ONLY", ".metagit/tasks/graphs/g.json.lock cannot be written: Permission denied.")


# --- our fields ------------------------------------------------------------------------------------------------


def test_fields_that_are_set_through_us_are_kept(store: GraphFileStore, root: Path, graphs: Path) -> None:
    put_graph(graphs, "g", node("n"))
    store.revise("g", setting(risk="external", slots=2, priority=1))
    assert kept_of(root)["graphs"] == {"g": {"nodes": {"n": {"risk": "external", "slots": 2}}}}


def test_a_change_sees_and_writes_back_what_another_program_dropped(
    store: GraphFileStore, root: Path, graphs: Path
) -> None:
    path = put_graph(graphs, "g", node("n"))
    store.revise("g", setting(risk="external"))
    put_graph(graphs, "g", node("n"))
    seen: list[Any] = []

    def change(record: Json | None) -> Json:
        seen.append(record)
        return {**(record or {}), "title": "new"}

    store.revise("g", change)
    assert seen == [graph(node("n", risk="external"))]
    assert json.loads(path.read_text())["nodes"] == [node("n", risk="external")]
    assert Reader(root).warnings() == ()


def test_a_field_that_a_change_removes_has_ended(store: GraphFileStore, root: Path, graphs: Path) -> None:
    path = put_graph(graphs, "g", node("n"))
    store.revise("g", setting(risk="external", slots=2))
    store.revise("g", removing("risk"))
    assert json.loads(path.read_text()) == graph(node("n", slots=2, risk=None))
    assert kept_of(root)["graphs"] == {"g": {"nodes": {"n": {"slots": 2}}}}

    put_graph(graphs, "g", node("n"))
    found = Reader(root).nodes()["n"]
    assert (found.risk, found.slots) == (None, 2)


def test_rows_that_are_no_nodes_stay_as_they_are(store: GraphFileStore, root: Path, graphs: Path) -> None:
    path = put_graph(graphs, "g", node("n"))
    store.revise("g", setting(risk="external"))
    document = {**graph(), "nodes": [5, {"node_id": 7}, {}, node(" n ")]}
    put(path, document)
    store.revise("g", lambda record: {**(record or {}), "title": "new"})
    assert json.loads(path.read_text())["nodes"] == [5, {"node_id": 7}, {}, node(" n ", risk="external")]
    assert kept_of(root)["graphs"] == {"g": {"nodes": {"n": {"risk": "external"}}}}


def test_a_graph_without_a_list_of_nodes_stays_so(store: GraphFileStore, graphs: Path) -> None:
    path = put_graph(graphs, "g", node("n"))
    store.revise("g", setting(risk="external"))
    put(path, {"title": "t"})
    store.revise("g", lambda record: {**(record or {}), "title": "new"})
    assert json.loads(path.read_text()) == {"title": "new"}


def test_a_damaged_kept_json_stops_no_write(store: GraphFileStore, root: Path, graphs: Path) -> None:
    put_graph(graphs, "g", node("n"))
    (root / ".metagit/schedule/kept.json").write_text("{")
    store.revise("g", setting(slots=2))
    assert kept_of(root)["graphs"] == {"g": {"nodes": {"n": {"slots": 2}}}}
    assert (root / ".metagit/schedule/kept.json.bad").read_text() == "{"


# --- the list --------------------------------------------------------------------------------------------------


def test_the_list_is_sorted_and_keeps_what_others_wrote(store: GraphFileStore, root: Path) -> None:
    put(root / ".metagit/tasks/index.json", {"version": 7, "graphs": [row("z"), row("b", mine=1)]})
    store.revise("b", lambda _: graph(graph_id="b", title="new", status="completed", objective_id="o"))
    store.revise("a", lambda _: graph(graph_id="a"))
    assert index_of(root) == {
        "version": 7,
        "graphs": [row("a"), row("b", title="new", status="completed", objective_id="o", mine=1), row("z")],
    }
    assert (root / ".metagit/tasks/index.json").read_text() == json.dumps(index_of(root), indent=2) + "\n"


@pytest.mark.parametrize(
    "raw", [b'{"graphs": [], "a": 1e999}', b"", b"{", b"[]", b"{}", b'{"graphs": [5]}', b'{"graphs": [{}]}', b"\xff"]
)
def test_a_damaged_list_is_made_anew_from_the_files(
    raw: bytes, store: GraphFileStore, root: Path, graphs: Path
) -> None:
    (root / ".metagit/tasks/index.json").write_bytes(raw)
    put_graph(graphs, "b", title="B", updated_at="then")
    put(graphs / "c.json", {})
    (graphs / "bad.json").write_text("{")
    (graphs / "folder.json").mkdir()
    (graphs / ".hidden.json").write_text("{}")
    store.revise("a", lambda _: graph(graph_id="a"))
    assert index_of(root) == {
        "graphs": [row("a"), row("b", title="B", updated_at="then"), row("c", title="", updated_at="")]
    }


def test_a_folder_that_cannot_be_listed_gives_a_list_of_what_was_written(
    store: GraphFileStore, root: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_graph(graphs, "b")

    def refuse(_: str) -> list[str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("metagit_mcp.adapters.graph_index.os.listdir", refuse)
    store.revise("a", lambda _: graph(graph_id="a"))
    assert index_of(root) == {"graphs": [row("a")]}


def test_a_list_that_cannot_be_written_is_a_warning_and_the_graph_stands(
    store: GraphFileStore, root: Path, graphs: Path
) -> None:
    (root / ".metagit/tasks/index.json").mkdir()
    put_graph(graphs, "g", node("n"))
    warnings = store.revise("g", setting(slots=2))
    assert warnings == (".metagit/tasks/index.json is not a regular file but a folder.",)
    assert kept_of(root)["graphs"] == {"g": {"nodes": {"n": {"slots": 2}}}}

    (root / ".metagit/tasks/index.json").rmdir()
    assert store.revise("g", setting(slots=3)) == ()


def test_errors_name_no_content(store: GraphFileStore, graphs: Path) -> None:
    (graphs / "g.json").write_text('{"title": "SECRET", "nodes": }')
    with pytest.raises(MetagitError) as caught:
        store.revise("g", setting(priority=1))
    assert "SECRET" not in json.dumps(caught.value.as_record())
