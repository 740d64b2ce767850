"""Graph files of every kind that is wrong: each harms only itself, is named, and is never repeated word for word."""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.wire.json_alike import DEEPEST
from tests.scenarios.attack import ANSWER_LIMIT, Json, Run, Server, graphs_of, offered, run
from tests.unit.adapters.reading import graph, node, put_graph

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PRIVATE = "SECRET STANDING IN A FILE"
WHOLE = json.dumps(graph(node("x", title=PRIVATE, priority=3), graph_id="w")).encode()
DEEP = 100_000


def replaced(old: bytes, new: bytes) -> bytes:
    assert WHOLE.count(old) == 1
    return WHOLE.replace(old, new)


# What the file holds, and what the warning says after the graph's name; None where the graph is used all the same.
UNUSABLE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not valid JSON"),
    "blank": (b" \n\t\n", "not valid JSON"),
    "null": (b"null", "one JSON object"),
    "list": (b"[]", "one JSON object"),
    "text": (json.dumps(PRIVATE).encode(), "one JSON object"),
    "utf16": (WHOLE.decode().encode("utf-16"), "not UTF-8 at byte 0"),
    "latin": (replaced(b"SECRET STANDING", b"SECRET \xe9"), "not UTF-8 at byte"),
    "raw-nul": (replaced(b"SECRET STANDING", b"SECRET \0"), "not valid JSON"),
    "twice": (WHOLE * 2, "not valid JSON"),
    "trailing": (WHOLE + b"garbage", "not valid JSON"),
    "comment": (b"// note\n" + WHOLE, "not valid JSON"),
    "deep-list": (b'{"nodes":' + b"[" * DEEP + b"]" * DEEP + b"}", "nested too deeply"),
    "deep-object": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "nested too deeply"),
    "nodes-object": (b'{"title":"t","nodes":{}}', "nodes: must be a list"),
    "title-number": (b'{"title":5,"nodes":[]}', "title: should be"),
}
BAD_NODE: dict[str, tuple[bytes, str]] = {
    "priority-nan": (replaced(b": 3", b": NaN"), "x/priority: "),
    "priority-1e309": (replaced(b": 3", b": 1e309"), "x/priority: "),
    "priority-10^309": (replaced(b": 3", b": 1" + b"0" * 309), "x/priority: "),
    "priority-5000-digits": (replaced(b": 3", b": " + b"9" * 5_000), "x/priority: "),
    "priority-2^53": (replaced(b": 3", b": %d" % 2**53), "x/priority: "),
    "priority-minus-2^53": (replaced(b": 3", b": %d" % -(2**53)), "x/priority: "),
    "priority-text": (replaced(b": 3", b': "SECRET STANDING"'), "x/priority: "),
    "half-character": (replaced(b"SECRET STANDING", b"SECRET \\ud800"), "x/title: "),
    "status": (replaced(b'"x",', b'"x", "status": "done?!",'), "unknown status of x"),
    "itself": (replaced(b'"x",', b'"x", "depends_on": ["x"],'), ""),
    "lost": (replaced(b'"x",', b'"x", "depends_on": ["nowhere"],'), ""),
    "twice-in-one": (json.dumps(graph(node("x"), node("x"), graph_id="w")).encode(), "x/node_id: used twice"),
}
GOOD_ALL_THE_SAME = {
    "bom": b"\xef\xbb\xbf" + WHOLE,
    "crlf": WHOLE.replace(b"{", b"{\r\n"),
    "escaped-nul": replaced(b"SECRET STANDING", b"SECRET \\u0000"),
    "keys-twice": b'{"nodes":[],"title":"a","title":"b","nodes":[{"node_id":"x"}]}',
    "odd-rows": b'{"nodes":[1,null,"x",[],{},{"node_id":5},{"node_id":".."},{"node_id":"a b"},{"node_id":"x"}]}',
    "other-name-inside": replaced(b'"graph_id": "w"', b'"graph_id": "../../w"'),
}


def odd_files(folder: Path) -> dict[str, str]:
    """Files that are no regular files of the workspace; return what is said of each."""
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.getcwd()  # noqa: PTH109 - the name of a socket may be no longer than about 100 bytes
        os.chdir(folder)
        bound.bind("socket.json")
        os.chdir(here)
    for name, target in {
        "device": "/dev/zero",
        "outside": "/etc/passwd",
        "loop": "loop.json",
        "dangling": "no",
    }.items():
        (folder / f"{name}.json").symlink_to(target)
    return {
        "folder": "a folder",
        "pipe": "a pipe",
        "socket": "a socket",
        "device": "a link that leads out of the workspace",
        "outside": "a link that leads out of the workspace",
        "loop": "a link that leads nowhere",
        "dangling": "a link that leads nowhere",
    }


def without_secret(end: bytes) -> bool:
    return PRIVATE.encode()[:8] not in end and b"root:" not in end


def test_every_bad_kind_at_once_leaves_the_good_graphs(tmp_path: Path) -> None:
    folder = graphs_of(tmp_path)
    put_graph(folder, "good", node("a", priority=9))
    (folder / "inside.json").symlink_to("good.json")
    for name, (raw, _) in {**UNUSABLE, **BAD_NODE}.items():
        (folder / f"{name.replace('^', '')}.json").write_bytes(raw)
    said = odd_files(folder)
    for name in (".swp.json", "a b.json", "x.json~", "x.json.lock", "\u202ex.json", "UP.JSON"):
        (folder / name).write_text("PRIVATE")
    with open(os.fsencode(folder) + b"/\xff.json", "wb"):  # noqa: PTH123 - a name that is no text
        pass

    end = run(tmp_path, "schedule", "next", "--limit", "100", "--preview")
    answer = end.record
    assert (end.code, end.err, offered(answer)) == (0, b"", ["a", "a"])
    assert len(end.out) <= ANSWER_LIMIT
    assert without_secret(end.out)
    warnings = answer["warnings"]
    for name, about in said.items():
        assert [text.endswith(about) for text in warnings if text.startswith(f"graph {name}:")] == [True], name
    passed_over = [text for text in warnings if text.endswith("it is passed over")]
    assert len(passed_over) == 3
    for command in (["schedule", "status"], ["task", "list"], ["schedule", "plan", "--mermaid"]):
        shown = Run(tmp_path, *command).ended()
        assert (shown.code, shown.err) == (0, b"")
        assert b"root:" not in shown.out


def test_each_bad_kind_says_what_is_wrong_and_comes_back_when_it_is_mended(tmp_path: Path) -> None:
    folder = graphs_of(tmp_path)
    path = put_graph(folder, "w", node("x"))
    put_graph(folder, "good", node("a"))
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        for name, (raw, about) in UNUSABLE.items():
            path.write_bytes(raw)
            # Until 200 ms after the write the former content stands, since a writer may be at work.
            answer = settled(server, path)
            assert offered(answer) == ["a"], name
            assert [about in text for text in answer["warnings"]] == [True], (name, answer["warnings"])
            refusals = [
                server.ask("schedule_next", graph_id="w"),
                server.ask("task_plan", graph_id="w", title="t", nodes=[{"title": "more"}]),
            ]
            assert [each["code"] for each in refusals] == ["GRAPH_INVALID"] * 2, name
            assert PRIVATE[:8] not in json.dumps([answer, refusals])
            assert path.read_bytes() == raw
        for name, (raw, about) in BAD_NODE.items():
            path.write_bytes(raw)
            answer = settled(server, path)
            assert offered(answer) == ["a"], name
            assert about in " ".join(answer["warnings"]), (name, answer["warnings"])
            assert PRIVATE[:8] not in json.dumps(answer)
        for name, raw in GOOD_ALL_THE_SAME.items():
            path.write_bytes(raw)
            answer = settled(server, path)
            assert sorted(offered(answer)) == ["a", "x"], (name, answer["warnings"])
        server.end()


def settled(server: Server, path: Path) -> Json:
    """Ask after the time in which a half-written file is borne, which is made to have passed."""
    os.utime(path, (1_000_000_000, 1_000_000_000))
    return server.ask("schedule_next", preview=True, limit=100)


def test_a_file_cut_at_any_byte_is_whole_or_named_or_the_former_one(tmp_path: Path) -> None:
    folder = graphs_of(tmp_path)
    put_graph(folder, "good", node("a"))
    path = folder / "w.json"
    path.write_bytes(WHOLE)
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        assert sorted(offered(settled(server, path))) == ["a", "x"]
        for length in range(len(WHOLE)):
            path.write_bytes(WHOLE[:length])
            answer = settled(server, path)
            assert (offered(answer), len(answer["warnings"])) == (["a"], 1), length
        path.write_bytes(WHOLE)
        assert sorted(offered(settled(server, path))) == ["a", "x"]
        # Just written, the half is taken for one that is not finished: the former stands.
        path.write_bytes(WHOLE[:-9])
        assert sorted(offered(server.ask("schedule_next", preview=True, limit=9))) == ["a", "x"]
        server.end()


def test_a_thousand_bad_files_leave_an_answer_that_is_small_and_useful(tmp_path: Path) -> None:
    folder = graphs_of(tmp_path)
    put_graph(folder, "good", node("a"), node("b"))
    for number in range(1_000):
        (folder / f"bad{number:04}.json").write_text('{"torn": ' + "x" * number)
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        answer = server.ask("schedule_next", limit=2)
        assert (offered(answer), answer["truncated"]) == (["a", "b"], True)
        (cut,) = answer["omitted"]
        assert (cut["what"], cut["count"] + len(answer["warnings"])) == ("warnings", 1_000)
        status = server.ask("schedule_status", graph_id="good")
        assert [each["graph_id"] for each in status["groups"]] == ["good"]
        assert server.ask("task_update", node_id="a", status="running")["warnings"] == []
        assert server.ask("schedule_status", graph_id="bad0500")["groups"][0]["state"] == "invalid"
        server.end()


def test_a_file_of_100_mb_is_read_in_bounded_time_and_one_of_300_mb_refused(tmp_path: Path) -> None:
    folder = graphs_of(tmp_path)
    put_graph(folder, "good", node("a"))
    padding = b'"' + b" " * (100 << 20) + b'"'
    (folder / "big.json").write_bytes(replaced(b'"SECRET STANDING IN A FILE"', padding))
    with (folder / "huge.json").open("wb") as sparse:
        sparse.truncate(300 << 20)
    end = run(tmp_path, "schedule", "next", "--limit", "9", "--preview")
    assert (end.code, end.err, sorted(offered(end.record))) == (0, b"", ["a", "x"])
    (refused,) = [text for text in end.record["warnings"] if text.startswith("graph huge: ")]
    assert refused.endswith(f"is larger than {256 << 20} bytes")
    assert len(end.out) <= ANSWER_LIMIT


NESTS: dict[str, Callable[[int], str]] = {
    "lists": lambda depth: "[" * depth + "]" * depth,
    "objects": lambda depth: '{"a":' * depth + "1" + "}" * depth,
}


@pytest.mark.parametrize("nest", NESTS.values(), ids=list(NESTS))
def test_unknown_fields_are_kept_however_deep_or_the_file_is_refused(
    tmp_path: Path, nest: Callable[[int], str]
) -> None:
    path = put_graph(graphs_of(tmp_path), "g", node("a", theirs="@"))
    flat = path.read_text()
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        # Where it stands in the file, three levels are around it; each Python has another limit of its own.
        for depth in (100, 240, DEEPEST - 3, DEEPEST - 2, 900, 1_200, 5_000):
            path.write_text(flat.replace('"@"', nest(depth)))
            os.utime(path, (1_000_000_000, 1_000_000_000))
            before = path.read_bytes()
            answer = server.ask("task_update", node_id="a", graph_id="g", priority=3)
            if depth <= DEEPEST - 3:
                assert answer["node"]["priority"] == 3
                kept = json.dumps(json.loads(path.read_text())["nodes"][0]["theirs"])
                assert kept.replace(" ", "") == nest(depth)
            else:
                assert (answer["code"], path.read_bytes()) == ("GRAPH_INVALID", before)
        server.end()
