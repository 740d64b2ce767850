"""Which repositories were served: nodes that were decided on and then ran, the newest of them, each once."""

import json
from collections.abc import Collection
from pathlib import Path

import pytest

from metagit_mcp.adapters.services import ServiceLog
from tests.unit.adapters.reading import Json, Reader, node, put, put_graph


@pytest.fixture
def log(root: Path) -> ServiceLog:
    return ServiceLog(str(root))


@pytest.fixture
def path(schedule: Path) -> Path:
    return schedule / "decisions.jsonl"


def row(node_id: str, repository: str | None, **fields: object) -> Json:
    return {"graph_id": "g", "node_id": node_id, "dispatch_hints": {"repository": repository}, **fields}


def append(path: Path, *rows: object) -> None:
    with path.open("ab") as file:
        for each in rows:
            file.write(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n")


def served(log: ServiceLog, window: int = 100, ran: Collection[str] | None = None) -> Json:
    return dict(log.services(window, lambda graph_id, node_id: graph_id == "g" and (ran is None or node_id in ran)))


def test_without_a_log_nobody_was_served(log: ServiceLog) -> None:
    assert served(log) == {}


def test_only_nodes_that_ran_count_and_each_once(log: ServiceLog, path: Path) -> None:
    append(path, *(row(name, "p/a") for name in ("n1", "n1", "n2", "n3")), row("n4", "P/B.git"), row("n5", None))
    assert served(log, ran=("n1", "n2", "n4", "n5")) == {"p/a": 2, "p/b": 1}


def test_the_newest_count(log: ServiceLog, path: Path) -> None:
    append(path, *(row(f"a{number}", "a") for number in range(5)), *(row(f"b{number}", "b") for number in range(3)))
    assert served(log, 4) == {"a": 1, "b": 3}
    assert served(log, 2) == {"b": 2}
    append(path, row("c", "c"))
    assert served(log, 2) == {"b": 1, "c": 1}


def test_skipped_foreign_and_senseless_lines_do_not_count(log: ServiceLog, path: Path) -> None:
    append(
        path,
        row("n1", "a", skipped=True),
        row("n2", "a", graph_id="h"),
        b"garbage\n",
        b"[]\n",
        {"graph_id": 5, "node_id": "n3", "repository": "a"},
        {"graph_id": "g", "node_id": "n4", "repository": ["a"]},
        {"graph_id": "g", "node_id": "n5", "repository": "a", "project": "p"},
        json.dumps(row("n6", "a")).encode(),
    )
    assert served(log) == {"p/a": 1}
    append(path, b"\n")
    assert served(log) == {"a": 1, "p/a": 1}


def test_a_log_that_starts_anew_is_read_anew(log: ServiceLog, path: Path) -> None:
    append(path, *(row(f"n{number}", "a") for number in range(9)))
    assert served(log) == {"a": 9}
    path.write_bytes(b"")
    append(path, row("m", "b"))
    assert served(log) == {"b": 1}
    path.unlink()
    assert served(log) == {}


def test_no_more_than_twenty_lines_per_place_of_the_window_are_looked_at(log: ServiceLog, path: Path) -> None:
    append(path, row("far", "a"), *(row(f"n{number}", "b") for number in range(39)), row("near", "c"))
    assert served(log, 2, ran=("far", "near")) == {"c": 1}
    append(path, *(row("m", "b") for _ in range(40)))
    assert served(log, 2, ran=("far", "near")) == {}


def test_a_log_of_another_kind_serves_nobody(log: ServiceLog, path: Path) -> None:
    path.mkdir()
    assert served(log) == {}


# --- in the image ----------------------------------------------------------------------------------------------


def test_the_log_is_read_only_while_a_weight_asks_for_it(root: Path, schedule: Path, graphs: Path, path: Path) -> None:
    rows = [node("n1", status="running"), node("n2", status="completed"), node("n4")]
    put_graph(graphs, "g", *rows, node("n3", status="blocked", blocker_reason="failed: x"))
    (graphs / "h.json").write_text("{")
    append(path, *(row(f"n{number}", "a") for number in range(1, 6)), row("n1", "a", graph_id="h"))
    reader = Reader(root)
    plain = reader.read()
    assert dict(plain.surroundings.services) == {}
    append(path, row("n9", "b"))
    assert reader.files.changed() is False

    put(schedule / "policy.json", {"weights": {"fairness": 0.5}})
    fair = reader.read()
    assert dict(fair.surroundings.services) == {"a": 3}
    assert fair.state_version == Reader(root).read().state_version
    append(path, row("n2", "b"))
    assert reader.files.changed() is True
    assert dict(reader.read().surroundings.services) == {"a": 2, "b": 1}

    put(schedule / "policy.json", {"graph_overrides": {"g": {"fairness": 0.5}, "h": {"fairness": 0.0}}})
    put_graph(graphs, "g", node("n1", status="running"))
    assert dict(reader.read().surroundings.services) == {"a": 1}

    put(schedule / "policy.json", {"weights": {"fairness": 0.0}})
    assert dict(reader.read().surroundings.services) == {}
