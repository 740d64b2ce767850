"""Without --json people get aligned text, in which nothing that others wrote can act on a terminal."""

from __future__ import annotations

import json
import sys
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.interfaces.cli.output import Table, print_blocks
from metagit_mcp.interfaces.cli.views.schedule import view_status
from metagit_mcp.wire.requests import StatusRequest
from metagit_mcp.wire.responses import ReasonCount, TaskListAnswer
from tests.interfaces.cli.fake_application import EFFECT, EXPLANATION, full_status
from tests.interfaces.cli.fake_program import HOSTILE
from tests.interfaces.mcp.fake_application import DECISION, NODE, next_answer, policy_answer, status_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from metagit_mcp.interfaces.cli.output import Block
    from tests.interfaces.cli.conftest import Ended

    Run = Callable[..., Ended]


def lines(ended: Ended) -> list[str]:
    assert (ended.code, ended.err) == (0, "")
    return ended.out.splitlines()


def test_next(run: Run) -> None:
    full = replace(
        DECISION,
        repository="default/web",
        compile_command="metagit context compile --task-id build",
        title="Größe 漢字",
    )
    reasons = (ReasonCount(reason="blocked", nodes=1), ReasonCount(reason="finished", nodes=9))
    answer = replace(
        next_answer(full),
        not_eligible=reasons,
        skipped=(replace(DECISION, node_id="deploy-all"),),
        warnings=("odd row",),
    )
    assert lines(run("schedule", "next", schedule_next=answer)) == [
        "Next:",
        "  graph  node   score  title",
        "  shop   build   3.25  Größe 漢字",
        "why shop/build: priority=3, cost=0.2500(tokens=1000)",
        "  repository: default/web",
        "  context: metagit context compile --task-id build",
        "Held back by merge pressure:",
        "  graph  node        score  title",
        "  shop   deploy-all   3.25  Build it",
        "2 ready, 1 runnable now. Not eligible: blocked 1.",
        "warning: odd row",
        "next step: Work on it.",
    ]


def test_status(run: Run) -> None:
    assert lines(run("schedule", "status", schedule_status=full_status())) == [
        "Workspace /somewhere (--workspace), policy revision abc",
        "3 nodes in 1 graph: 1 eligible, 1 awaiting approval",
        "Groups, 3 of 30, most behind first; received of the last 40 charges:",
        "  graph  class     share  received  running  ready  oldest  place  note",
        "  shop   high×3    66.7%     25.0%      2/4      1   2m 7×      3  Shop",
        "  site   normal×1            25.0%        2      1                 waits: blocked 1, no_slot 2",
        "  over   normal×1            25.0%        2      1                 completed: Site",
        "Running:",
        "  graph  node  agent    since  leased until          title",
        "  shop   test  agent-1         2026-11-29T12:00:00Z  Test it",
        "Waited for shop/wide: 3 slots kept, 1 free now, until 2026-11-29T12:00:00Z",
        "Paused:",
        "  what        by   until                 note",
        "  group shop  ada  2026-11-29T12:00:00Z  Release",
        "Merge queue:",
        "  repository   depth  threshold  pressured",
        "  default/web      4          3  yes",
        "Recent decisions:",
        "  at                    graph  node   score",
        "  2026-11-29T12:00:00Z  shop   build   3.25  skipped",
        "Needs a person:",
        "  graph  node    reason                        note",
        "  shop   big     never_fits(4 slots, limit 2)  3 nodes, one is: Big",
        "  shop   deploy  awaiting_approval             Deploy it",
        "  metagit-mcp schedule policy set --patch '{}'",
        "  metagit-mcp work approve deploy --graph-id shop",
        "shop/build: Build it",
        "  status ready, not runnable now",
        "  against: blocked(failed) (No key)",
        "  score 3.25: priority=3",
        "Factors:",
        "  factor    value  weight  contribution",
        "  priority      3       1             3",
        "0 ready, 0 runnable now. Not eligible: awaiting_approval 1.",
        "warning: graph shop: one row is odd",
        "next step: Ask for the next.",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0s"), (119, "119s"), (120, "2m"), (7_199, "119m"), (7_200, "2h"), (172_800, "2d")]
)
def test_how_long_somebody_waits(run: Run, seconds: int, said: str) -> None:
    status = full_status()
    (first, *_) = status.groups
    assert first.oldest is not None
    waiting = replace(first, oldest=replace(first.oldest, seconds=seconds))
    shown = lines(run("schedule", "status", schedule_status=replace(status, groups=(waiting,))))
    assert shown[4].split()[6] == said


def test_groups_fit_into_100_columns(run: Run) -> None:
    status = full_status()
    group = replace(status.groups[0], graph_id="a-long-graph", priority_class="critical", weight=16, title="T" * 99)
    shown = lines(run("schedule", "status", schedule_status=replace(status, groups=(group,))))
    assert [len(line) <= 100 for line in shown[2:5]] == [True] * 3


def test_what_is_kept_for_urgent_work(run: Run) -> None:
    status = full_status()
    assert status.held is not None
    held = replace(status.held, purpose="preemption", slots=1, free=0, until=None)
    shown = lines(run("schedule", "status", schedule_status=replace(status, held=held)))
    assert "Waited for shop/wide: 1 slot kept, 0 free now; running work was asked to pause for it" in shown


def test_a_watched_status_is_shown_again_until_it_is_enough(run: Run) -> None:
    ended = run("schedule", "status", "--watch", "--graph-id", "shop")
    assert [line for line in lines(ended) if " ready, " in line] == [
        "0 ready, 0 runnable now.",
        "3 ready, 0 runnable now.",
    ]
    ((name, question),) = ended.asked
    assert (name, question[0]) == ("schedule.follow_status", StatusRequest(graph_id="shop"))


def test_a_watched_status_as_json_is_a_line_each_time(run: Run) -> None:
    ended = run("schedule", "status", "--watch", "--json")
    assert [json.loads(line)["ready_count"] for line in lines(ended)] == [0, 3]


def test_an_empty_status_has_no_empty_tables(run: Run) -> None:
    assert lines(run("schedule", "status")) == [
        "Workspace /somewhere (--workspace), policy revision abc",
        "0 nodes in 0 graphs",
        "0 ready, 0 runnable now.",
        "next step: Ask for the next.",
    ]


@pytest.mark.parametrize(("charges", "among"), [(0, "those"), (None, "those of its Group")])
def test_explain(run: Run, charges: int | None, among: str) -> None:
    explained = replace(EXPLANATION, runnable=True, reasons=(), place=2)
    status = replace(status_answer(), explain=explained, charges=charges)
    assert lines(run("schedule", "explain", "build", schedule_status=status))[:3] == [
        "shop/build: Build it",
        f"  status ready, runnable, place 2 of {among} that can be started now",
        "  score 3.25: priority=3",
    ]


def test_policy(run: Run) -> None:
    policy = {
        "weights": {"priority": 1.0, "cost": 0.25},
        "skip_on_merge_pressure": False,
        "slots": None,
        "groups": {},
        "ordering": "score",
        "gates": {"approval_required_for": ["high_risk", "destructive"], "none": []},
    }
    answer = replace(policy_answer(), policy=policy, changed=True, effect=EFFECT)
    assert lines(run("schedule", "policy", "preview", "--cost", "1", policies_run=answer)) == [
        "Policy if set (nothing is written), revision abc:",
        "  key                          value",
        "  weights.priority             1",
        "  weights.cost                 0.25",
        "  skip_on_merge_pressure       false",
        "  slots                        none",
        "  groups                       none",
        "  ordering                     score",
        "  gates.approval_required_for  high_risk, destructive",
        "  gates.none                   none",
        "Order:",
        "  place  before           after",
        "      1  shop/build 3.25  shop/test 4",
        "      2                   shop/build 3.25",
        "Guaranteed shares:",
        "  graph  before     after",
        "  shop        1  0.333333",
        "next step: Go on.",
    ]


def test_of_many_shares_it_says_how_many_are_left_out(run: Run) -> None:
    answer = replace(policy_answer(), effect=replace(EFFECT, shares_total=25))
    assert "Guaranteed shares, the 1 of 25 that change most:" in lines(
        run("schedule", "policy", "preview", "--cost", "1", policies_run=answer)
    )
    none = replace(policy_answer(), effect=replace(EFFECT, shares=(), shares_total=0))
    shown = lines(run("schedule", "policy", "preview", "--cost", "1", policies_run=none))
    assert not [line for line in shown if line.startswith("Guaranteed")]


def test_a_set_says_whether_it_changed_anything(run: Run) -> None:
    answer = replace(policy_answer(), changed=True)
    assert lines(run("schedule", "policy", "set", "--cost", "1", policies_run=answer))[-2:] == [
        "changed",
        "next step: Go on.",
    ]
    assert lines(run("schedule", "policy", "set", "--cost", "1"))[-2:] == ["not changed", "next step: Go on."]


def test_tasks(run: Run) -> None:
    assert lines(run("task", "plan", "--title", "Shop")) == [
        "Graph shop created: 1 node added, 1 in all",
        "Shop:",
        "  node   status  priority  after  title",
        "  build  ready          0  plan   Build it",
        "next step: Ask for the next.",
    ]
    assert lines(run("task", "list"))[0] == "shop (active, 1 node)"
    assert lines(run("task", "list", tasks_list=TaskListAnswer(graphs=(), warnings=()))) == [
        'No task graph. Plan one: metagit-mcp task plan --title "..." --outline FILE'
    ]
    node = replace(NODE, acceptance=("It runs", "It stays up"), capabilities=())
    assert lines(run("task", "show", "build", tasks_show=node)) == [
        "Node shop/build:",
        "  field         value",
        "  title         Build it",
        "  status        ready",
        "  depends_on    plan",
        "  priority      0",
        "  deadline      2026-11-29T12:00:00Z",
        "  capabilities  none",
        "  acceptance    It runs; It stays up",
    ]
    assert lines(run("task", "update", "build", "--priority", "1"))[:2] == ["changed", "Node shop/build:"]


def test_one_number_and_one_drawing(run: Run) -> None:
    assert lines(run("schedule", "count", "--runnable")) == ["7"]
    assert lines(run("schedule", "plan", "--mermaid")) == ["flowchart LR", "  n0[plan] --> n1[build]"]


def test_approve(run: Run) -> None:
    assert lines(run("work", "approve", "build", "--operator", "ada")) == [
        "shop/build approved by ada at 2026-11-29T12:00:00+00:00",
        "next step: It may run now.",
    ]


# --- what others wrote ---------------------------------------------------------------------------------------------


def hidden(text: str) -> set[str]:
    return {mark for mark in text if unicodedata.category(mark) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} - {"\n"}


@pytest.mark.parametrize(
    "arguments",
    [("schedule", "next"), ("schedule", "status"), ("schedule", "explain", "build"), ("task", "show", "build")],
)
def test_no_mark_that_acts_is_printed(run: Run, arguments: tuple[str, ...]) -> None:
    status = full_status()
    ended = run(
        *arguments,
        schedule_next=replace(
            next_answer(replace(DECISION, title=HOSTILE, reasons=(HOSTILE,), compile_command=HOSTILE)),
            warnings=(HOSTILE,),
            next_step=HOSTILE,
        ),
        schedule_status=replace(
            status,
            running=tuple(replace(each, title=HOSTILE, agent_id=HOSTILE) for each in status.running),
            needs_person=tuple(replace(each, note=HOSTILE, command=HOSTILE) for each in status.needs_person),
            explain=replace(EXPLANATION, title=HOSTILE),
            workspace=replace(status.workspace, path=HOSTILE),
        ),
        tasks_show=replace(NODE, title=HOSTILE, acceptance=(HOSTILE,)),
    )
    assert ended.code == 0
    assert "red" in ended.out
    assert hidden(ended.out) == set()


def test_an_error_prints_no_mark_that_acts(run: Run) -> None:
    ended = run("schedule", HOSTILE)
    assert (ended.code, hidden(ended.err)) == (2, set())


def test_a_long_text_does_not_stretch_the_table(run: Run) -> None:
    answer = next_answer(replace(DECISION, title="x" * 5_000))
    assert max(map(len, lines(run("schedule", "next", schedule_next=answer)))) < 250


def test_wide_and_combining_marks_keep_the_columns(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    table = Table(title="T", header=("a", "b"), rows=(("漢字", "1"), ("e\u0301", "2"), ("abcd", "3")))
    print_blocks([table])
    assert capsysbinary.readouterr().out.decode().splitlines() == [
        "T:",
        "  a     b",
        "  漢字  1",
        "  e\u0301     2",
        "  abcd  3",
    ]


# --- width and time ------------------------------------------------------------------------------------------------

LONG_ID = "migrate-the-orders-table"


def wide(*ids: str, title: str = "Move every row, then drop the old column " * 4) -> Table:
    header = (*(f"id{place}" for place, _ in enumerate(ids)), "score", "title")
    return Table(title="Next", header=header, rows=((*ids, "12.5", title),), numbers=frozenset({"score"}))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Callable[..., list[str]]:
    """Return a function that draws a table at a terminal of 80 columns, and gives its lines."""

    def drawn(*blocks: Block) -> list[str]:
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        print_blocks(blocks)
        return capsysbinary.readouterr().out.decode().splitlines()

    return drawn


def test_at_a_terminal_the_title_folds_and_no_id_breaks(terminal: Callable[..., list[str]]) -> None:
    lines = terminal(wide(LONG_ID, "migrate-the-other-table"))
    assert max(map(len, lines)) <= 80
    assert sum(LONG_ID in line for line in lines) == 1
    assert sum("Move" in line for line in lines) > 1


def test_where_the_ids_alone_are_too_wide_the_terminal_wraps_the_line(terminal: Callable[..., list[str]]) -> None:
    lines = terminal(wide(LONG_ID * 2, LONG_ID * 2))
    assert [LONG_ID * 2 in line for line in lines] == [False, False, True]
    assert lines[2].startswith(f"  {LONG_ID * 2}  {LONG_ID * 2}   12.5  Move every row")


def test_where_the_rest_of_a_row_leaves_no_room_its_title_stands_below_it(terminal: Callable[..., list[str]]) -> None:
    again = f"{LONG_ID}-again"
    table = wide(LONG_ID, again)
    rows = (*table.rows, (LONG_ID, "x", "3", ""))
    lines = terminal(Table(title="Next", header=table.header, rows=rows, numbers=table.numbers))
    assert max(map(len, lines)) <= 80
    assert lines[:3] == ["Next:", f"  id0{' ' * 23}id1{' ' * 29}score", f"  {LONG_ID}  {again}   12.5"]
    assert " ".join(line.strip() for line in lines[3:-1]) == ("Move every row, then drop the old column " * 4).strip()
    assert {len(line) - len(line.lstrip()) for line in lines[3:-1]} == {6}
    assert lines[-1].split() == [LONG_ID, "x", "3"]


def test_how_things_stand_fits_80_columns(terminal: Callable[..., list[str]]) -> None:
    status = full_status()
    group = replace(status.groups[0], graph_id="documentation", priority_class="normal", weight=16, title="T" * 99)
    node = replace(status.running[0], graph_id="checkout", node_id="c1", agent_id="claude-one", title="T" * 99)
    lines = terminal(*view_status(replace(status, groups=(group,), running=(node,))))
    assert sum(line.count("T") for line in lines) > 190
    tables = lines[lines.index(next(line for line in lines if line.startswith("Groups"))) :]
    assert max(map(len, tables[: tables.index(next(line for line in tables if line.startswith("Recent")))])) <= 80


def test_in_a_pipe_a_title_is_cut_at_100_columns(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    print_blocks([wide(LONG_ID), wide(LONG_ID, title="漢" * 90), wide("a" * 120, title="b" * 30)])
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert (len(lines[2]), lines[2][-1]) == (100, "…")
    assert lines[5].endswith(f"  {'漢' * 32}…")
    assert lines[8] == f"  {'a' * 120}   12.5  {'b' * 19}…"


def test_in_a_pipe_what_is_no_prose_is_whole(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    print_blocks([Table(title="Node", header=("field", "value"), rows=(("repository", "x" * 150),))])
    assert "x" * 150 in capsysbinary.readouterr().out.decode()


def test_times_have_no_fraction(run: Run) -> None:
    updated = replace(NODE, updated_at="2026-11-29T12:00:00.123456+00:00", title="At 12:00:00.5 sharp")
    shown = "\n".join(lines(run("task", "show", "build", tasks_show=updated)))
    assert "2026-11-29T12:00:00+00:00" in shown
    assert "At 12:00:00.5 sharp" in shown
