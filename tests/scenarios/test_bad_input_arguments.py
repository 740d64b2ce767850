"""Numbers, ids, names and actions that are none, through tool arguments, flags, patch and file.

Whatever the way in, a bad value is refused by the name of its field, and nothing is written.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.attack import Json, Server, graphs_of, offered, run
from tests.unit.adapters.reading import node, put, put_graph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WEIGHTS = ("priority", "dependency", "affinity", "cost", "fairness", "urgency", "deadline")
NUMBERS = (*WEIGHTS, "merge_pressure_penalty")
# As JSON, since JSON has no word for some of them.
NO_WEIGHTS = ("NaN", "Infinity", "-Infinity", "-1", "-0.000001", "1000001", "1e309", "1" + "0" * 309, "true", "[]")
NO_WEIGHT_TEXTS = ("nan", "inf", "-inf", "Infinity", "abc", "0x10", "1e", "-1", "1e9", "\uff11")
TOO_LONG = "x" * 300
NO_IDS = ("..", ".", "../../x", "a/b", "/etc/passwd", "a b", "a:b", "a\nb", "a\0b", "$(id)", "½", "🙂", TOO_LONG)
BAD = "INVALID_INPUT"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("arguments")
    put_graph(graphs_of(root), "g", node("a"), node("b", priority=3))
    # It is its own lock, so a set makes it before anything can be refused.
    put(root / ".metagit/schedule/policy.json", {})
    return root


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    """One server for all bad calls, none of which may write anything."""
    before = files(root)
    with Server(root, "--operator", "ada") as server:
        server.enter("2026-07-28")
        yield server
        server.end()
    assert files(root) == before


def files(root: Path) -> dict[str, bytes]:
    """What stands in the workspace; locks are left by who only looked."""
    found = (path for path in sorted(root.rglob("*")) if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def call(server: Server, tool: str, arguments: str) -> Json:
    """Call a tool with arguments as they stand on the wire."""
    line = '{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"_meta":%s,"name":"metagit_%s","arguments":%s}}'
    server.send_bytes((line % (json.dumps(server.envelope), tool, arguments)).encode() + b"\n")
    return dict(json.loads(server.answer("x")["result"]["content"][0]["text"]))


def refused(record: Json) -> tuple[str, str]:
    return record["code"], record["details"]["field"]


# --- numbers -----------------------------------------------------------------------------------------------------


def test_a_weight_that_is_none_is_refused_by_its_name(server: Server) -> None:
    said = {
        (name, number): refused(call(server, "schedule_policy", f'{{"action":"{action}","{name}":{number}}}'))
        for name in NUMBERS
        for number in NO_WEIGHTS
        for action in ("set", "preview")
    }
    assert said == {(name, number): (BAD, name) for name, number in said}


def test_a_weight_that_is_no_number_is_refused_as_a_text(server: Server) -> None:
    said = {
        (name, text): server.refusal("schedule_policy", action="set", **{name: text})
        for name in (*NUMBERS, "merge_queue_threshold")
        for text in NO_WEIGHT_TEXTS
    }
    assert said == {(name, text): (BAD, name) for name, text in said}


@pytest.mark.parametrize("number", ["0", "-1", "0.5", "2.7", "NaN", "1e309", "1" + "0" * 309, "true", '"x"'])
def test_a_threshold_that_is_none_is_refused(server: Server, number: str) -> None:
    record = call(server, "schedule_policy", f'{{"action":"set","merge_queue_threshold":{number}}}')
    assert refused(record) == (BAD, "merge_queue_threshold")


@pytest.mark.parametrize("number", ["0", "-1", "101", "1.5", "NaN", "Infinity", "1" + "0" * 309, "true", '"x"', "[1]"])
def test_a_limit_that_is_none_is_refused(server: Server, number: str) -> None:
    assert refused(call(server, "schedule_next", f'{{"limit":{number}}}')) == (BAD, "limit")
    recent = call(server, "schedule_status", f'{{"recent":{number}}}')
    # To ask for no decisions is allowed.
    assert ("counts" in recent) is (number == "0")


@pytest.mark.parametrize("number", [str(2**53), str(-(2**53)), "1" + "0" * 309, "1000001", "NaN", "0.5", '"high"'])
def test_a_priority_out_of_range_is_refused(server: Server, number: str) -> None:
    assert refused(call(server, "task_update", f'{{"node_id":"a","priority":{number}}}')) == (BAD, "priority")
    planned = call(server, "task_plan", f'{{"title":"t","nodes":[{{"title":"x","priority":{number}}}]}}')
    assert planned["code"] == BAD
    assert refused(planned)[1].endswith("priority")


PATCHES = {
    '{"weights":{"priority":NaN}}': "patch",
    '{"weights":{"priority":1e309}}': "weights/priority",
    '{"weights":{"priority":-1}}': "weights/priority",
    '{"weights":{"priority":"x"}}': "weights/priority",
    '{"weights":{"priorty":1}}': "weights/priorty",
    '{"weights":null,"wieghts":{}}': "wieghts",
    '{"merge_queue_threshold":0}': "merge_queue_threshold",
    '{"merge_queue_threshold":2.5}': "merge_queue_threshold",
    '{"graph_overrides":{"g":{"priority":-1}}}': "graph_overrides/g/priority",
    '{"graph_overrides":{"../../x":{"priority":1}}}': "graph_overrides",
    '{"slots":-1}': "slots",
    '{"groups":{"g":{"quota":-1}}}': "groups/g/quota",
    "[]": "patch",
    "{": "patch",
    "nothing": "patch",
}


@pytest.mark.parametrize(("patch", "field"), PATCHES.items(), ids=list(PATCHES))
def test_a_patch_that_makes_no_policy_is_refused(server: Server, patch: str, field: str) -> None:
    for action in ("set", "preview"):
        assert server.refusal("schedule_policy", action=action, patch=patch) == (BAD, field)


# Field by field what a file may not say; the message names it and never repeats the value.
POLICIES = {
    '{"weights":{"priority":NaN}}': "not valid JSON",
    '{"weights":{"priority":Infinity}}': "not valid JSON",
    '{"weights":{"priority":1e309}}': "weights/priority",
    '{"weights":{"priority":-1}}': "weights/priority",
    '{"weights":{"priority":"SECRET"}}': "weights/priority",
    '{"weights":{"priority":1%s}}' % ("0" * 5_000): "not valid JSON",
    '{"merge_queue_threshold":0}': "merge_queue_threshold",
    '{"merge_queue_threshold":-3}': "merge_queue_threshold",
    '{"wieghts":{}}': "unknown key, the nearest known one is weights",
    '{"graph_overrides":{"g":{"priority":-5}}}': "graph_overrides/g/priority",
    "SECRET": "not valid JSON",
    "[]": "one JSON object",
    "": "not valid JSON",
    "\xff": "not valid JSON",
}


def test_a_policy_file_that_is_none_stops_next_and_a_set_says_so_too(tmp_path: Path) -> None:
    put_graph(graphs_of(tmp_path), "g", node("a"))
    policy = put(tmp_path / ".metagit/schedule/policy.json", {})
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        for text, named in POLICIES.items():
            policy.write_bytes(text.encode("latin-1"))
            for tool in ("schedule_next", "schedule_status", "schedule_policy"):
                record = server.ask(tool)
                assert (record["code"], named in record["message"]) == ("POLICY_INVALID", True), (text, record)
                assert "SECRET" not in json.dumps(record)
            # Reports never need the policy.
            assert server.ask("task_update", node_id="a", title=f"t{len(text)}")["node"]["node_id"] == "a"
        policy.write_text("{}")
        assert offered(server.ask("schedule_next")) == ["a"]
        server.end()


def test_a_set_mends_the_value_that_it_names(tmp_path: Path) -> None:
    policy = put(tmp_path / ".metagit/schedule/policy.json", {"merge_queue_threshold": 0, "weights": {"cost": 0.5}})
    end = run(tmp_path, "schedule", "policy", "set", "--merge-queue-threshold", "3")
    assert (end.code, end.record["changed"]) == (0, True)
    assert json.loads(policy.read_text()) == {"merge_queue_threshold": 3, "weights": {"cost": 0.5}}


# --- names -------------------------------------------------------------------------------------------------------

WHERE_IDS_STAND: list[tuple[str, str, Json]] = [
    ("schedule_next", "graph_id", {}),
    ("schedule_next", "agent_id", {}),
    ("schedule_status", "graph_id", {}),
    ("schedule_status", "node_id", {}),
    ("schedule_status", "after_group", {}),
    ("schedule_policy", "graph_id", {"action": "set", "priority": 1}),
    ("task_plan", "graph_id", {"title": "t"}),
    ("task_update", "node_id", {"priority": 1}),
    ("task_update", "graph_id", {"node_id": "a", "priority": 1}),
]


@pytest.mark.parametrize(("tool", "field", "rest"), WHERE_IDS_STAND, ids=str)
def test_what_is_no_id_is_refused_before_any_file_is_looked_for(
    server: Server, tool: str, field: str, rest: Json
) -> None:
    # Agents may be called so, and what is of Events; what names a file may not.
    others = set() if tool.startswith("task_") else {"a/b", "a:b"}
    for text in NO_IDS:
        if text not in others:
            assert server.refusal(tool, **{field: text}, **rest) == (BAD, field), text


@pytest.mark.parametrize("name", ["limits", "Limit", "__class__", "", "a b", "x" * 1000, "\u202e", "limit\0"])
def test_an_unknown_argument_is_refused(server: Server, name: str) -> None:
    record = server.ask("schedule_next", **{name: 1})
    assert record["code"] == BAD
    assert "limit" in record["hint"]
    assert len(json.dumps(record)) < 1_000


@pytest.mark.parametrize("action", ["shows", "SHOW", " show ", "delete", "x" * 100_000])
def test_an_unknown_action_is_refused(server: Server, action: str) -> None:
    assert server.refusal("schedule_policy", action=action) == (BAD, "action")


def test_a_graph_id_that_no_reader_would_find_is_not_written(server: Server) -> None:
    for graph_id in (".hidden", ".metagit-1.tmp", "x" * 250, "д" * 125):
        assert server.refusal("task_plan", title="t", graph_id=graph_id) == (BAD, "graph_id"), graph_id


def test_titles_of_any_letters_make_ids_that_any_reader_takes(tmp_path: Path) -> None:
    titles = ["½ cup of m²", "задача", "名前", "- - -", "🙂", "...", "ß" * 200, "x" * 500, "½", "a\u0301"]
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        (tmp_path / ".metagit").mkdir()
        answer = server.ask("task_plan", title="m²", nodes=[{"title": title} for title in titles])
        made = [each["node_id"] for each in answer["graph"]["nodes"]]
        assert made[:6] == ["cup-of-m", "задача", "名前", "task", "task-2", "task-3"]
        assert answer["graph"]["graph_id"] == "m"
        assert [server.ask("task_update", node_id=name, priority=1)["node"]["priority"] for name in made] == [1] * 10
        server.end()


# --- flags -------------------------------------------------------------------------------------------------------

FLAGS: list[tuple[list[str], int]] = [
    (["schedule", "next", "--limit", "0"], 2),
    (["schedule", "next", "--limit", "x"], 2),
    (["schedule", "next", "--limit", ""], 2),
    (["schedule", "next", "--limit", "1" + "0" * 309], 2),
    (["schedule", "next", "--graph-id", ""], 2),
    (["schedule", "next", "--graph-id", "../../x"], 2),
    (["schedule", "next", "--graph-id", TOO_LONG], 2),
    (["schedule", "next", "--graph-id", "--help"], 3),
    (["schedule", "next", "--agent-id", "x" * 100_000], 2),
    (["schedule", "next", "--limits", "5"], 2),
    (["schedule", "explain", "..."], 3),
    (["schedule", "policy", "set", "--priority", "nan"], 2),
    (["schedule", "policy", "set", "--priority", "inf"], 2),
    (["schedule", "policy", "set", "--merge-queue-threshold", "0"], 2),
    (["schedule", "policy", "set", "--patch", '{"weights":{"priority":NaN}}'], 2),
    (["schedule", "policy", "set", "--graph-id", "nowhere", "--priority", "1"], 3),
    (["schedule", "policy", "delete"], 2),
    (["task", "update", "a", "--priority", str(2**53)], 2),
    (["task", "update", "..", "--priority", "1"], 2),
    (["serve", "--agent-id", "a b"], 2),
    (["serve", "--agent-id", "x" * 300], 2),
]


@pytest.mark.parametrize(("arguments", "code"), FLAGS, ids=[" ".join(words)[:60] for words, _ in FLAGS])
def test_a_flag_that_cannot_be_is_refused(root: Path, arguments: list[str], code: int) -> None:
    before = files(root)
    end = run(root, *arguments)
    said = end.record["code"]
    assert (end.code, said in ({BAD} if code == 2 else {"GRAPH_NOT_FOUND", "NODE_NOT_FOUND"})) == (code, True), end
    assert (end.err, len(end.out) < 4_000, files(root)) == (b"", True, before)


def test_minus_zero_is_zero(tmp_path: Path) -> None:
    put(tmp_path / ".metagit/schedule/policy.json", {"weights": {"priority": 0.0}})
    with Server(tmp_path) as server:
        server.enter("2026-07-28")
        shown = server.ask("schedule_policy")
        answer = server.ask("schedule_policy", action="set", priority=-0.0)
        assert (answer["changed"], answer["revision"]) == (False, shown["revision"])
        assert not (tmp_path / ".metagit/schedule/audit.jsonl").exists()
        server.end()
