"""The decision as it is logged and answered, and the explanation of one node."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest

from metagit_mcp.domain.decision import (
    AttemptRecord,
    DependencyInput,
    DispatchHints,
    Factor,
    Handoff,
    ResumePoint,
    ScheduleDecision,
)
from metagit_mcp.domain.policy import AffinityPolicy, SchedulePolicy
from metagit_mcp.domain.tasks import Acl, TaskNode
from metagit_mcp.domain.work import Attempt, Checkpoint, Result
from metagit_mcp.scheduling import explain as explaining
from metagit_mcp.scheduling.cycle import Pick, WorkspaceQueue, plan
from metagit_mcp.scheduling.eligibility import Reason
from metagit_mcp.scheduling.explain import Explanation, decision, explain
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import ANYONE, HOUR, NOW, around, group, known, ledger, queue_over, task, tree

FACTORS = (
    Factor(name="priority", value=0.0, weight=1.0, contribution=0.0),
    Factor(name="dependency", value=1.0, weight=0.2, contribution=0.2),
    Factor(name="affinity", value=0.0, weight=0.5, contribution=0.0),
    Factor(name="cost", value=0.5, weight=0.25, contribution=0.125),
    Factor(name="fairness", value=0.0, weight=0.0, contribution=0.0),
    Factor(name="urgency", value=0.0, weight=1.0, contribution=0.0),
    Factor(name="deadline", value=0.0, weight=1.0, contribution=0.0),
    Factor(name="merge_pressure", value=0.0, weight=2.0, contribution=0.0),
)
REASONS = ("priority=0", "dependency=1.0000", "affinity=0", "cost=0.5000(tokens=1000)")


def decided(node: TaskNode, asker: Asker = ANYONE, **fields: Any) -> ScheduleDecision:  # noqa: ANN401 - of a snapshot
    queue = queue_over(node, task("d", status="completed", estimated_tokens=0), **fields)
    pick = plan(queue, asker, 1).picks[0]
    return decision(queue, asker, pick, "id-1", at=NOW)


def hints(node: TaskNode, **fields: Any) -> DispatchHints:  # noqa: ANN401 - as above
    found = decided(node, **fields).dispatch_hints
    assert found is not None
    return found


def test_the_decision_of_a_bare_node() -> None:
    assert decided(task("a")) == ScheduleDecision(
        decision_id="id-1",
        at=NOW,
        graph_id="g",
        node_id="a",
        title="",
        score=0.325,
        reasons=REASONS,
        factors=FACTORS,
        dispatch_hints=DispatchHints(
            title="",
            graph_id="g",
            priority=0,
            estimated_tokens=1000,
            depends_on=(),
            handoff=Handoff(prompt="Work on node a of graph g."),
        ),
        acl_commands=(),
    )


def test_the_decision_of_a_node_that_says_everything() -> None:
    node = task(
        "a",
        "d",
        title="Design\n\x1b[1m schema",
        status="ready",
        intent_id="intent-g",
        project="p",
        repository="p/api",
        agent_id="agent-1",
        acl=Acl(acl_commands=("metagit branch allocate --repository 'p/api' --description 'a  b'",)),
        compiled_context_path="/context/a.md",
        priority=3,
        estimated_tokens=3_000,
        deadline=NOW + 100 * HOUR,
        acceptance=("tests pass", "docs\tsay so"),
        model_tier="small",
    )
    found = decided(node, Asker(agent_id="w1"), surroundings=around(tree("p/api", agent_id="w1", path="/trees/w1/api")))
    assert (found.title, found.repository, found.agent_id, found.skipped) == ("Design [1m schema", "p/api", "w1", None)
    assert (found.score, found.reasons[2]) == (3.7625, "affinity=1")
    assert found.acl_commands == ("metagit branch allocate --repository p/api --description 'a  b'",)
    assert found.compile_command == "metagit context compile --project p --repo api --task-id a"
    assert found.dispatch_hints == DispatchHints(
        title="Design [1m schema",
        graph_id="g",
        priority=3,
        estimated_tokens=3_000,
        depends_on=("d",),
        handoff=Handoff(prompt="Work on node a of graph g.", context_pack="/context/a.md"),
        project="p",
        repository="p/api",
        agent_id="agent-1",
        deadline=NOW + 100 * HOUR,
        worktree="/trees/w1/api",
        intent="intent-g",
        acceptance=("tests pass", "docs say so"),
        model_tier="small",
    )


def test_a_skipped_decision_says_so_last() -> None:
    policy = SchedulePolicy(skip_on_merge_pressure=True)
    node = task("a", repository="p/a")
    queue = queue_over(node, policy=policy, surroundings=around(merges={"p/a": 4}))
    found = decision(queue, ANYONE, plan(queue, ANYONE, 1).skipped[0], "id", at=NOW, skipped=True)
    assert found.skipped is True
    assert found.score == -1.675
    assert found.reasons[-2:] == ("merge_pressure depth=4 threshold=3 penalty=2.0", "skipped_due_to_merge_pressure")


# --- what a dispatcher runs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("project", "repository", "command"),
    [
        ("p", "p/api", "metagit context compile --project p --repo api --task-id a"),
        ("p", "api/", "metagit context compile --project p --repo api --task-id a"),
        ("p", "p\\api", "metagit context compile --project p --repo api --task-id a"),
        (
            "my project",
            "x; rm -rf ~",
            "metagit context compile --project 'my project' --repo 'x; rm -rf ~' --task-id a",
        ),
        ("$(id)", "`id`", "metagit context compile --project '$(id)' --repo '`id`' --task-id a"),
        ("p", "///", None),
        ("p", None, None),
        (None, "p/api", None),
        ("\u200b", "p/api", None),
        ("p", "", None),
    ],
)
def test_the_compile_command(project: str | None, repository: str | None, command: str | None) -> None:
    assert decided(task("a", project=project, repository=repository)).compile_command == command


LONG = "/" + "d" * 1_000


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("metagit branch allocate --description 'a b'", ("metagit branch allocate --description 'a b'",)),
        ("metagit x; rm -rf ~", ("metagit 'x;' rm -rf '~'",)),
        ('metagit x $(id) `id` "q"', ("metagit x '$(id)' '`id`' q",)),
        ("metagit x 'two\nlines \x1b[1m'", ("metagit x 'two lines [1m'",)),
        (f"metagit x {LONG}", (f"metagit x {LONG}",)),
        ("rm -rf ~", ()),
        ("metagit 'open", ()),
        ("", ()),
        ("METAGIT x", ()),
    ],
)
def test_coordination_commands_are_quoted_anew_or_left_out(command: str, shown: tuple[str, ...]) -> None:
    found = decided(task("a", acl=Acl(acl_commands=(command,)))).acl_commands
    assert found == shown
    assert all(shlex.split(each)[0] == "metagit" for each in found or ())


def test_ids_that_are_none_are_not_passed_on() -> None:
    node = task("a", "d", "d")
    assert hints(node).depends_on == ("d", "d")
    pick = Pick(graph_id="g", node=task("a", "d", "no id", "ok"), score=0)
    queue = queue_over(pick.node)
    told = decision(queue, ANYONE, pick, "id", at=NOW).dispatch_hints
    assert told is not None
    assert told.depends_on == ("d", "ok")


def test_the_own_worktree_comes_first_then_the_first_by_path() -> None:
    trees = around(
        tree("p/a", agent_id="w2", path="/2"),
        tree("p/a", agent_id="w1", path="/9"),
        tree("p/a", agent_id="w3", path="/1"),
        tree("p/a", agent_id="w1", path="/0", on_disk=False),
        tree("p/b", agent_id="w1", path="/b"),
    )
    node = task("a", repository="P/A")
    assert [hints(node, asker=Asker(agent_id=name), surroundings=trees).worktree for name in ("w1", "w2", "")] == [
        "/9",
        "/2",
        "/1",
    ]
    assert hints(node).worktree is None
    own = SchedulePolicy(affinity=AffinityPolicy(scope="agent"))
    assert hints(node, surroundings=trees, policy=own).worktree is None


def test_a_path_is_never_cut() -> None:
    path = "/trees/" + "d" * 2_000
    node = task("a", repository="p/a", compiled_context_path=path)
    found = hints(node, surroundings=around(tree("p/a", path=path)))
    assert (found.worktree, found.handoff.context_pack) == (path, path)


# --- why, and why not ------------------------------------------------------------------------------------------


def explained(queue: WorkspaceQueue, node_id: str) -> Explanation:
    return explain(queue, ANYONE, "g", node_id)


def test_a_node_that_may_run() -> None:
    node = task("a")
    assert explained(queue_over(node), "a") == Explanation(
        graph_id="g", node=node, against=(), score=325_000, reasons=REASONS, factors=FACTORS
    )


def test_a_node_that_may_not_run_has_its_reasons_and_its_score() -> None:
    node = task("a", "gone", status="blocked", blocker_reason="Ann decides")
    assert explained(queue_over(node), "a") == Explanation(
        graph_id="g",
        node=node,
        against=(
            Reason(kind="not_ready", detail="missing dependency gone"),
            Reason(kind="blocked", note="Ann decides"),
        ),
        score=325_000,
        reasons=REASONS,
        factors=FACTORS,
    )


def test_a_finished_node_has_no_reason_of_the_moment() -> None:
    node = task("a", status="completed", capabilities=("gpu",))
    policy = SchedulePolicy(slots=1)
    found = explained(queue_over(node, task("r", status="running"), policy=policy), "a")
    assert found.against == (Reason(kind="finished", detail="completed"),)


# --- what was said is kept -------------------------------------------------------------------------------------


def test_what_was_said_of_a_pick_is_said_again_under_another_id_and_time() -> None:
    queue = queue_over(task("a", title="one"))
    pick = plan(queue, ANYONE, 1).picks[0]
    first = decision(queue, ANYONE, pick, "id-1", at=NOW)
    again = decision(queue, ANYONE, pick, "id-2", at=NOW + HOUR)
    assert again == replace(first, decision_id="id-2", at=NOW + HOUR)
    assert again.dispatch_hints is first.dispatch_hints


def test_after_a_change_the_node_is_told_as_it_is_now() -> None:
    queue = queue_over(task("a", title="one"))
    titles = [decision(queue, ANYONE, plan(queue, ANYONE, 1).picks[0], "id", at=NOW).title]
    queue.refresh(replace(queue.snapshot, graphs={"g": group("g", task("a", title="two"))}))
    titles.append(decision(queue, ANYONE, plan(queue, ANYONE, 1).picks[0], "id", at=NOW).title)
    assert titles == ["one", "two"]


def test_each_agent_is_told_of_its_own_worktree() -> None:
    trees = around(tree("p/a", agent_id="w1", path="/1"), tree("p/a", agent_id="w2", path="/2"))
    queue = queue_over(task("a", repository="p/a"), surroundings=trees)
    for agent_id, path in (("w1", "/1"), ("w2", "/2"), ("w1", "/1")):
        asker = Asker(agent_id=agent_id)
        found = decision(queue, asker, plan(queue, asker, 1).picks[0], "id", at=NOW)
        assert (found.agent_id, found.dispatch_hints and found.dispatch_hints.worktree) == (agent_id, path)


def test_not_more_is_kept_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "_TOLD_KEPT", 2)
    queue = queue_over(*(task(name) for name in "abc"))
    told = queue.moment(ANYONE).told
    sizes = []
    for pick in plan(queue, ANYONE, 3).picks:
        decision(queue, ANYONE, pick, "id", at=NOW)
        sizes.append(len(told))
    assert sizes == [1, 2, 1]


def test_a_command_too_long_to_be_one_is_left_out() -> None:
    start = "metagit claim declare --pattern "
    whole = start + "x" * (16_384 - len(start))
    node = task("a", acl=Acl(acl_commands=(whole, whole + "x", "metagit lease acquire")))
    # The word is cut as any other; shlex quotes it for the mark of the cut.
    assert decided(node).acl_commands == (f"{start}'{'x' * 4_095}…'", "metagit lease acquire")


# --- what was done before --------------------------------------------------------------------------------------


def test_what_the_dependencies_left_behind_is_handed_on() -> None:
    long = Result(summary="done\n" + "x" * 600, artifacts=("out/a\x1b.txt",), evidence=("https://ci/1",))
    nodes = [task(name) for name in ("done", "bare", "other")]
    node = task("a", "done", "bare", "done", "unknown", priority=9)
    items = known("done", "completed", result=long), known("bare", "completed")
    queue = queue_over(*nodes, node, task("unknown", status="completed"), work=ledger(*items))
    found = decision(queue, ANYONE, plan(queue, ANYONE, 1).picks[0], "id", at=NOW).dispatch_hints
    assert found is not None
    assert (found.inputs, found.attempts, found.resume_from) == (
        (
            DependencyInput(
                node_id="done",
                summary="done " + "x" * 494 + "…",
                artifacts=("out/a .txt",),
                evidence=("https://ci/1",),
            ),
        ),
        None,
        None,
    )


def test_a_result_that_was_sent_back_is_no_input() -> None:
    item = known("d", "submitted", result=Result(summary="half"))
    node = task("a", "d")
    queue = queue_over(node, task("d"), work=ledger(item))
    pick = Pick(graph_id="g", node=node, score=0)
    found = decision(queue, ANYONE, pick, "id", at=NOW).dispatch_hints
    assert found is not None
    assert found.inputs is None


def test_who_tried_before_and_where_to_go_on() -> None:
    tried = Attempt(agent_id="w2", at=NOW, outcome="failed", note="no\ndisk")
    point = Checkpoint(checkpoint_id="cp-1", at=NOW, lease_id="L-1", uri="file:///tmp/x", digest="", note="step 3\t")
    assert hints(task("a"), work=ledger(known("a", attempts=(tried,)))).resume_from is None
    hint = hints(task("a"), work=ledger(known("a", attempts=(tried,), checkpoint=point)))
    assert hint.attempts == (AttemptRecord(agent_id="w2", at=NOW, outcome="failed", note="no disk"),)
    assert hint.resume_from == ResumePoint(checkpoint_id="cp-1", at=NOW, uri="file:///tmp/x", note="step 3")


def test_warmth_that_all_repositories_share_is_said_to_prefer_none() -> None:
    nodes = task("a", repository="p/a"), task("b", repository="p/b"), task("c", status="completed", repository="p/c")
    for trees, said in ((("p/a", "p/b"), ["affinity=1", "affinity=no_effect"]), (("p/a",), ["affinity=1"])):
        queue = queue_over(*nodes, surroundings=around(*map(tree, trees)))
        told = decision(queue, ANYONE, plan(queue, ANYONE, 1).picks[0], "d1", at=NOW)
        assert [each for each in told.reasons if each.startswith("affinity")] == said
