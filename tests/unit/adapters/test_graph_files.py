"""One bad graph file harms only itself, and a graph is the same object until its file says something else."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.adapters.reading import Reader, graph, node, put, put_graph
from tests.unit.adapters.second import run_as_nobody


@pytest.fixture
def reader(root: Path) -> Reader:
    return Reader(root)


def usable(reader: Reader) -> dict[str, bool]:
    return {graph_id: loaded.graph is not None for graph_id, loaded in reader.read().graphs.items()}


def test_without_a_folder_there_are_no_graphs_and_nothing_is_made(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    assert (dict(reader.read().graphs), reader.warnings()) == ({}, ())
    assert list(tmp_path.iterdir()) == []


def test_graphs_come_in_the_order_of_their_ids(reader: Reader, graphs: Path) -> None:
    for name in ("b", "a", "名前", "B"):
        put_graph(graphs, name, node("n"))
    assert list(reader.read().graphs) == ["B", "a", "b", "名前"]


def test_only_what_changed_is_another_object(reader: Reader, graphs: Path) -> None:
    put_graph(graphs, "a", node("n"))
    put_graph(graphs, "b", node("n"))
    first = reader.read()
    assert reader.read() is first

    put_graph(graphs, "b", node("n", priority=3))
    second = reader.read()
    assert second.graphs is not first.graphs
    assert second.graphs["a"] is first.graphs["a"]
    assert second.graphs["b"] != first.graphs["b"]
    assert (second.surroundings, second.policy, second.approvals) == (
        first.surroundings,
        first.policy,
        first.approvals,
    )
    assert second.surroundings is first.surroundings
    assert second.policy is first.policy
    assert second.approvals is first.approvals


def test_a_file_that_is_written_anew_with_the_same_content_changes_nothing(reader: Reader, graphs: Path) -> None:
    path = put_graph(graphs, "a", node("n"))
    first = reader.read()
    os.utime(path, (1, 1))
    assert reader.files.changed() is True
    assert reader.read() is first


def test_a_file_that_goes_takes_its_graph_along(reader: Reader, graphs: Path) -> None:
    path = put_graph(graphs, "a", node("n"))
    assert list(reader.read().graphs) == ["a"]
    path.unlink()
    assert list(reader.read().graphs) == []


def test_names_that_are_no_ids_are_warned_of_and_hidden_ones_are_not(reader: Reader, graphs: Path) -> None:
    put_graph(graphs, "good", node("n"))
    names = (
        " pad .json",
        "a b.json",
        "(x).json",
        ".json",
        "..json",
        ".swp.json",
        "x.json.lock",
        "notes.txt",
        "👍.json",
    )
    for name in names:
        put(graphs / name, graph(node("n")))
    assert list(reader.read().graphs) == ["good"]
    assert [text.partition(": ")[0] for text in reader.warnings()] == [
        ".metagit/tasks/graphs/(x).json",
        ".metagit/tasks/graphs/a b.json",
        ".metagit/tasks/graphs/pad .json",
        ".metagit/tasks/graphs/👍.json",
    ]
    (graphs / "a b.json").unlink()
    (graphs / "(x).json").unlink()
    (graphs / "👍.json").unlink()
    (graphs / " pad .json").unlink()
    assert reader.warnings() == ()


# --- files that cannot be used ---------------------------------------------------------------------------------

NOT_JSON = "not valid JSON: "
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", NOT_JSON),
    "blank": (b" \n", NOT_JSON),
    "not_utf8": (b'{"title": "\xff"}', NOT_JSON),
    "deep": (b'{"a":' * 100_000, NOT_JSON),
    "list": (b"[]", "the file must hold one JSON object"),
    "nan": (b'{"title": NaN}', "title: should be a valid string"),
    "nodes": (b'{"nodes": 5}', "nodes: must be a list"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_is_no_graph_harms_only_itself(case: str, reader: Reader, graphs: Path) -> None:
    raw, why = BAD[case]
    put_graph(graphs, "good", node("n"))
    (graphs / "bad.json").write_bytes(raw)
    assert usable(reader) == {"bad": False, "good": True}
    (warning,) = reader.warnings()
    assert warning.startswith(f"graph bad: {why}")
    assert warning.endswith(why) is (why != NOT_JSON)


def test_a_file_cut_at_any_byte_is_whole_or_refused(reader: Reader, graphs: Path) -> None:
    put_graph(graphs, "good", node("n"))
    raw = json.dumps(
        graph(node("n", title="Größe"), node("m", depends_on=["n"]), graph_id="cut"), ensure_ascii=False
    ).encode()
    whole = len(raw.rstrip())
    for length in range(len(raw) + 1):
        (graphs / "cut.json").write_bytes(raw[:length])
        assert usable(reader) == {"cut": length >= whole, "good": True}
        assert (reader.warnings() == ()) is (length >= whole)


def test_a_byte_order_mark_is_only_a_warning(reader: Reader, graphs: Path) -> None:
    (graphs / "g.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(graph(node("n"))).encode())
    assert list(reader.nodes()) == ["n"]
    assert reader.warnings() == ("graph g: starts with a byte order mark; other programs refuse that",)


def _make_folder(path: Path) -> None:
    path.mkdir()


def _make_pipe(path: Path) -> None:
    os.mkfifo(path)


def _make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _make_link_out(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def _make_link_to_nothing(path: Path) -> None:
    path.symlink_to("nowhere.json")


def _make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(256 * 1024 * 1024 + 1)


REFUSED: dict[Callable[[Path], None], str] = {
    _make_folder: "is not a regular file but a folder",
    _make_pipe: "is not a regular file but a pipe",
    _make_device: "is a link that leads out of the workspace",
    _make_link_out: "is a link that leads out of the workspace",
    _make_link_to_nothing: "is a link that leads nowhere",
    _make_huge: "is larger than 268435456 bytes",
}


@pytest.mark.parametrize("make", REFUSED, ids=lambda make: make.__name__)
def test_what_is_no_file_of_the_workspace_is_never_opened(
    make: Callable[[Path], None], reader: Reader, graphs: Path
) -> None:
    put_graph(graphs, "good", node("n"))
    make(graphs / "bad.json")
    assert usable(reader) == {"bad": False, "good": True}
    assert reader.warnings() == (f"graph bad: .metagit/tasks/graphs/bad.json {REFUSED[make]}",)


def test_a_file_of_100_mb_is_read(reader: Reader, graphs: Path) -> None:
    with (graphs / "g.json").open("wb") as file:
        file.write(json.dumps(graph(node("n"))).encode())
        for _ in range(100):
            file.write(b" " * (1024 * 1024))
    assert list(reader.nodes()) == ["n"]


def test_another_users_files_are_warned_of(root: Path, graphs: Path) -> None:
    put_graph(graphs, "good", node("n")).chmod(0o644)
    put_graph(graphs, "bad", node("n")).chmod(0)
    found = run_as_nobody("image", root)
    why = "graph bad: .metagit/tasks/graphs/bad.json cannot be read: Permission denied"
    assert (found["usable"], found["warnings"]) == (["good"], [why])


def test_a_folder_that_cannot_be_listed_is_a_warning(root: Path, graphs: Path) -> None:
    put_graph(graphs, "good", node("n"))
    graphs.chmod(0o311)
    try:
        found = run_as_nobody("image", root)
    finally:
        graphs.chmod(0o755)
    why = ".metagit/tasks/graphs cannot be listed: Permission denied"
    assert (found["usable"], found["warnings"]) == ([], [why])


def test_a_file_in_place_of_the_folder_is_a_warning(reader: Reader, graphs: Path) -> None:
    put_graph(graphs, "g", node("n"))
    reader.read()
    graphs.rename(graphs.with_name("away"))
    graphs.touch()
    assert usable(reader) == {"g": False}
    assert reader.warnings() == (
        ".metagit/tasks/graphs cannot be listed: Not a directory",
        "graph g: .metagit/tasks/graphs/g.json cannot be read: Not a directory",
    )
    graphs.unlink()
    graphs.with_name("away").rename(graphs)
    assert (usable(reader), reader.warnings()) == ({"g": True}, ())


# --- files that are being written ------------------------------------------------------------------------------


def test_while_a_file_is_written_its_last_good_version_stands(reader: Reader, graphs: Path) -> None:
    path = put(graphs / "g.json", graph(node("n")))
    first = reader.read()

    path.write_text('{"title":')
    reader.time.just_after(path)
    assert reader.read() is first
    assert reader.files.changed() is True

    reader.time.now_ns += 200_000_000
    broken = reader.read()
    assert broken.graphs["g"].graph is None
    assert reader.files.changed() is False
    assert reader.time.pauses == 0


def test_a_file_that_was_half_written_is_taken_when_it_is_whole(reader: Reader, graphs: Path) -> None:
    path = put(graphs / "g.json", graph(node("n")))
    reader.read()
    path.write_text("")
    reader.time.just_after(path)
    assert list(reader.nodes()) == ["n"]
    put(path, graph(node("m")))
    assert list(reader.nodes()) == ["m"]


def test_a_first_reading_waits_for_a_file_that_is_being_written(reader: Reader, graphs: Path) -> None:
    path = graphs / "g.json"
    path.write_text("")
    reader.time.just_after(path)
    reader.time.at_pause(3, path, graph(node("n")))
    assert list(reader.nodes()) == ["n"]
    assert reader.time.pauses == 3


def test_a_first_reading_waits_200_ms_and_no_longer(reader: Reader, graphs: Path) -> None:
    for name in ("a", "b"):
        (graphs / f"{name}.json").write_text("{")
    reader.time.just_after(graphs / "b.json")
    assert usable(reader) == {"a": False, "b": False}
    assert reader.time.pauses <= 20


def test_a_reading_with_an_unusable_version_only_waits_too(reader: Reader, graphs: Path) -> None:
    path = graphs / "g.json"
    path.write_text("{")
    assert usable(reader) == {"g": False}
    path.write_text("[")
    reader.time.just_after(path)
    reader.time.at_pause(1, path, graph(node("n")))
    assert list(reader.nodes()) == ["n"]
