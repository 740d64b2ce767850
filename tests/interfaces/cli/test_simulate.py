"""`metagit-mcp simulate` from the command line: the same bytes for the same seed, and a field for what is wrong."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from metagit_mcp.interfaces.cli import simulate as command
from metagit_mcp.interfaces.cli.views.simulate import duration
from metagit_mcp.scheduling import cycle
from metagit_mcp.scheduling.simulation.presets import PRESETS
from metagit_mcp.scheduling.simulation.workload import Arrivals, SimulatedGroup, Workload
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.simulation import read_workload

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.interfaces.cli.conftest import Ended

    Run = Callable[..., Ended]

# Weights 1 and 3, where only tags decide; one node needs more slots than there are.
SMALL: dict[str, Any] = {
    "title": "One and three",
    "agents": 1,
    "policy": {"deadline_window": 0},
    "groups": [
        {"graph_id": "one", "arrivals": [{"nodes": 2, "due_seconds": 400}]},
        {
            "graph_id": "three",
            "weight": 3,
            "arrivals": [{"nodes": 6, "estimated_tokens": 2_000, "tokens": 4_000}, {"slots": 2}],
        },
    ],
}


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(SMALL))
    return str(path)


WHOLE: dict[str, Any] = {
    "title": "One and three",
    "seed": 0,
    "ordering": "fair",
    "agents": 1,
    "slots": 1,
    "seconds": 480,
    "nodes": 9,
    "started": 8,
    "finished": 8,
    "cost": 26,
    "jain_index": 0.9855,
    "largest_cost_ratio": 0.2353,
    "largest_seconds_ratio": 0.2,
    "deadlines": {"due": 2, "missed": 0, "missed_by_edf": 0, "missed_by_fifo": 0},
}
THREE: dict[str, Any] = {
    "graph_id": "three",
    "class": "normal",
    "weight": 3,
    "nodes": 7,
    "started": 6,
    "finished": 6,
    "paused": 0,
    "never_fit": 1,
    "cost": 24,
    "share": {"received": 0.9231, "by_weight": 0.9038, "ratio": 1.0213},
    "wait_seconds": {"p50": 240, "p95": 420, "most": 420},
    "wait_dispatches": {"p50": 2, "p95": 2, "most": 2},
    "turn": {
        "dispatches": 1,
        "cost": 1,
        "cost_bound": 8.3333,
        "cost_ratio": 0.12,
        "seconds": 120,
        "seconds_bound": 600,
        "seconds_ratio": 0.2,
    },
    "deadlines": {"due": 0, "missed": 0, "missed_by_edf": 0, "missed_by_fifo": 0},
}


# --- what is shown -------------------------------------------------------------------------------------------------


def test_what_a_person_sees(run: Run, small: str) -> None:
    ended = run("simulate", "--workload", small, "--seed", "3")
    assert (ended.code, ended.err) == (0, "")
    # three starts at tag 1/3, is at 5/3 when its first node used twice what it said, and so on.
    assert (
        ended.out
        == """\
One and three
  2 Groups, 1 agent, 1 slot, ordering fair, seed 3
  8 min: 8 of 9 nodes started, 8 finished, 26 units of cost
  Jain index of cost by weight: 0.9855
  longest turn by its bound: 0.2353 of cost, 0.2000 of seconds
  0 of 2 deadlines missed; 0 under earliest deadline first, 0 under first in, first out
Shares of the cost while they had work:
  group  class   weight  nodes  started  cost   share  by weight   ratio
  one    normal       1      2        2     2  0.2000     0.2500  0.8000
  three  normal       3      7        6    24  0.9231     0.9038  1.0213
Waits of nodes:
  group    p50    p95  longest  others' starts p50  p95  most
  one    1 min  3 min    3 min                   1    2     2
  three  4 min  7 min    7 min                   2    2     2
Longest turns: what others got between two starts of a Group that could start more:
  group  starts  cost  bound   ratio   time   bound   ratio
  one         1     4   17.0  0.2353  2 min  18 min  0.1111
  three       1     1    8.3  0.1200  2 min  10 min  0.2000
Deadlines missed:
  group  due  missed  under EDF  under FIFO
  one      2       0          0           0
"""
    )


def test_what_a_script_sees(run: Run, small: str) -> None:
    ended = run("simulate", "--workload", small, "--json")
    record = ended.record
    assert {name: each for name, each in record.items() if name != "groups"} == WHOLE
    assert record["groups"][1] == THREE


def test_by_score_the_cheaper_nodes_go_first(run: Run, small: str) -> None:
    record = run("simulate", "--workload", small, "--ordering", "score", "--json").record
    assert record["ordering"] == "score"
    assert [each["turn"]["cost"] for each in record["groups"]] == [0, 2]


def test_who_starves_is_said(run: Run, tmp_path: Path) -> None:
    greedy = {"graph_id": "greedy", "arrivals": [{"nodes": 40, "priority": 5}]}
    path = tmp_path / "greedy.json"
    path.write_text(json.dumps({"agents": 1, "groups": [greedy, {"graph_id": "other", "arrivals": [{}]}]}))
    lines = run("simulate", "--workload", str(path), "--ordering", "score").out.splitlines()
    # 40 units before it, where 2·8 + 1 + 1 and the largest slack are the most; 40 minutes, where 20 are.
    assert lines[4] == "  longest turn by its bound: 2.1053 of cost, 2.0000 of seconds: somebody starved"
    fair = run("simulate", "--workload", str(path)).out.splitlines()
    assert fair[4] == "  longest turn by its bound: 0.4737 of cost, 0.4500 of seconds"


def test_only_the_groups_nearest_to_their_bound_are_shown(run: Run, tmp_path: Path) -> None:
    groups = [{"graph_id": f"g{number:02}", "arrivals": [{}]} for number in range(22)]
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"agents": 1, "groups": groups}))
    lines = run("simulate", "--workload", str(path)).out.splitlines()
    assert lines[0] == "Workload"
    assert lines[-1] == "2 more Groups: --json has them all"
    assert sum(line.startswith("  g21 ") for line in lines) == 3
    assert not any(line.startswith("  g00 ") for line in lines)


def test_a_run_of_nothing_shares_nothing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "idle.json"
    path.write_text('{"agents": 1, "groups": [{"graph_id": "a", "arrivals": [{"slots": 2}]}]}')
    assert run("simulate", "--workload", str(path)).out.splitlines()[:6] == [
        "Workload",
        "  1 Group, 1 agent, 1 slot, ordering fair, seed 0",
        "  0 s: 0 of 1 node started, 0 finished, 0 units of cost",
        "  longest turn by its bound: 0.0000 of cost, 0.0000 of seconds",
        "Shares of the cost while they had work:",
        "  group  class   weight  nodes  started  cost  share  by weight  ratio",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (3_600, "1 h"),
        (7_260, "2 h 1 min"),
        (86_400, "1 d"),
        (90_000, "1 d 1 h"),
    ],
)
def test_a_time_is_told_in_two_units(seconds: int, text: str) -> None:
    assert duration(seconds) == text


# --- the same every time -------------------------------------------------------------------------------------------


PROBE = """
import sys
from metagit_mcp.interfaces.cli.main import main
ended = main(["simulate", "--workload", sys.argv[1], "--seed", "5", "--json"])
sys.exit(ended or 3 * any(name in sys.modules for name in ("matplotlib", "numpy", "mcp", "networkx")))
"""


def test_two_processes_print_the_same_bytes_and_load_nothing_to_draw_with(small: str) -> None:
    def printed(hash_seed: str) -> bytes:
        environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", PROBE, small]
        return subprocess.run(command, env=environ, capture_output=True, check=True, timeout=60).stdout

    assert printed("1") == printed("2") != b""


def test_the_plan_is_the_one_of_real_work(run: Run, small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> cycle.Plan:
        raise AssertionError

    monkeypatch.setattr(cycle, "plan", broken)
    ended = run("simulate", "--workload", small, "--json")
    assert (ended.code, ended.record["code"], ended.record["details"]["kind"]) == (
        1,
        "INTERNAL_ERROR",
        "AssertionError",
    )


def test_no_workspace_is_opened(run: Run, small: str) -> None:
    assert run("simulate", "--workload", small).asked == []


def test_the_presets_that_are_named_are_those_there_are() -> None:
    assert tuple(PRESETS) == command.PRESETS


def test_a_preset_runs(run: Run) -> None:
    record = run("simulate", "--preset", "late-joiner", "--json").record
    assert (record["title"], record["seed"], len(record["groups"])) == (PRESETS["late-joiner"](0).title, 0, 4)


def test_without_a_workload_it_is_the_first_preset(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "PRESETS", ("late-joiner",))
    assert run("simulate", "--json").record["title"] == PRESETS["late-joiner"](0).title


# --- what is refused -----------------------------------------------------------------------------------------------


def test_a_workload_from_standard_input(run: Run, small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(json.dumps(SMALL).encode()))
    monkeypatch.setattr(sys, "stdin", given)
    assert run("simulate", "--workload", "-", "--json").out == run("simulate", "--workload", small, "--json").out


def test_a_bad_workload_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"groups": [{"graph_id": "a", "arrivals": [{"slots": 0}]}]}')
    ended = run("simulate", "--workload", str(path), "--json")
    assert (ended.code, ended.record) == (
        2,
        {
            "code": "INVALID_INPUT",
            "message": "groups/0/arrivals/0/slots: should be greater than or equal to 1",
            "hint": "metagit-mcp schemas export FOLDER writes workload.schema.json, which says what is valid.",
            "details": {"field": "groups/0/arrivals/0/slots"},
            "retryable": False,
        },
    )


@pytest.mark.parametrize(
    ("arguments", "field", "message"),
    [
        (["--workload", "gone.json"], "workload", "workload: there is no file 'gone.json'"),
        (["--workload", ""], "workload", "--workload is empty"),
        (["--workload", "x", "--preset", "wide"], "workload", "--preset and --workload are two workloads"),
        (["--seed", "-1"], "seed", "Invalid value for '--seed': -1 is not in the range 0<=x<=9223372036854775807."),
    ],
)
def test_what_does_not_go_together(run: Run, arguments: list[str], field: str, message: str) -> None:
    ended = run("simulate", *arguments, "--json")
    assert (ended.code, ended.record["code"]) == (2, "INVALID_INPUT")
    assert (ended.record["details"]["field"], ended.record["message"]) == (field, message)


def test_an_unknown_preset_is_refused_with_the_known_ones(run: Run) -> None:
    record = run("simulate", "--preset", "stedy", "--json").record
    assert record["message"] == (
        "Invalid value for '--preset': 'stedy' is not one of 'steady', 'one-greedy', 'deadline-abuse', 'wide', "
        "'burst', 'late-joiner', 'thousand-groups'."
    )


# --- the picture ---------------------------------------------------------------------------------------------------


def drawn(run: Run, path: Path, *arguments: str) -> bytes:
    ended = run("simulate", *arguments, "--svg", str(path), "--json")
    assert (ended.code, ended.err) == (0, "")
    return path.read_bytes()


def test_the_picture_is_well_formed_and_the_same_every_time(run: Run, small: str, tmp_path: Path) -> None:
    first = drawn(run, tmp_path / "a.svg", "--workload", small)
    assert first == drawn(run, tmp_path / "b.svg", "--workload", small)
    root = ET.fromstring(first)  # noqa: S314 - our own picture
    texts = ["".join(each.itertext()).strip() for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"One and three", "one", "three", "share of cost", "minutes"} <= set(texts)
    assert b"dc:date" not in first


def test_many_groups_are_drawn_class_by_class(run: Run, tmp_path: Path) -> None:
    groups = [
        {"graph_id": f"g{number}", "class": "high" if number % 3 else "low", "arrivals": [{"nodes": 2}]}
        for number in range(9)
    ]
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"title": "Costs $1 & $2", "groups": groups}))
    picture = drawn(run, tmp_path / "many.svg", "--workload", str(path)).decode()
    assert all(text in picture for text in ("class high, 6 Groups", "class low, 3 Groups", "Costs $1 &amp; $2"))
    assert "class normal" not in picture


def test_a_run_of_nothing_is_drawn_too(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "idle.json"
    path.write_text('{"agents": 1, "groups": [{"graph_id": "a", "arrivals": [{"slots": 2}]}]}')
    assert drawn(run, tmp_path / "idle.svg", "--workload", str(path)).startswith(b"<?xml")


def test_without_matplotlib_it_is_said_how_to_get_it(
    run: Run, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ended = run("simulate", "--workload", small, "--svg", str(tmp_path / "x.svg"), "--json")
    assert (ended.code, ended.record) == (
        2,
        {
            "code": "INVALID_INPUT",
            "message": "--svg needs matplotlib, which is not installed",
            "hint": "pipx install --force '/path/to/clone[plot]', or leave --svg out.",
            "details": {"field": "svg"},
            "retryable": False,
        },
    )


def test_a_picture_that_cannot_be_written(run: Run, small: str, tmp_path: Path) -> None:
    path = tmp_path / "gone" / "x.svg"
    ended = run("simulate", "--workload", small, "--svg", str(path), "--json")
    assert (ended.code, ended.record["code"]) == (5, "STORE_UNAVAILABLE")
    assert ended.record["message"] == f"{path} cannot be written: No such file or directory."


def test_a_workload_reads_back_as_it_is_shown() -> None:
    made = Workload(groups=(SimulatedGroup(graph_id="a", priority_class="low", arrivals=(Arrivals(nodes=2),)),))
    assert read_workload(json.dumps(plain(made))) == made
