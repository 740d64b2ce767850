"""Why this one, why not that one: turns picks and reasons into the answer people and agents read. Decides nothing."""

import shlex
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final

from metagit_mcp.domain.decision import (
    AttemptRecord,
    DependencyInput,
    DispatchHints,
    Factor,
    Handoff,
    ResumePoint,
    ScheduleDecision,
)
from metagit_mcp.domain.policy import MICRO
from metagit_mcp.domain.repository import repository_key
from metagit_mcp.domain.tasks import TaskNode, effective_tokens
from metagit_mcp.domain.text import is_any_id, shown, shown_or_none
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import WorkItem
from metagit_mcp.scheduling.cycle import Pick, WorkspaceQueue, reasons_against
from metagit_mcp.scheduling.eligibility import GroupRules, Reason
from metagit_mcp.scheduling.moment import Moment, Told
from metagit_mcp.scheduling.scoring import factors, reasons
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.terms import is_warm

# A path or a command is of no use when it is cut; this is the longest path that systems take.
_LONGEST_WORD: Final = 4096
# To take a command apart costs the square of its longest word.
_LONGEST_COMMAND: Final = 16_384
_LONGEST_NOTE: Final = 500
_TOLD_KEPT: Final = 1000


def decision(
    queue: WorkspaceQueue, asker: Asker, pick: Pick, decision_id: str, *, at: datetime, skipped: bool = False
) -> ScheduleDecision:
    """Return a pick as the full decision that is logged and answered."""
    moment = queue.moment(asker)
    told = moment.told
    key = (pick.graph_id, pick.node.node_id, asker.agent_id, skipped, pick.passed_over)
    if key not in told:
        if len(told) >= _TOLD_KEPT:
            told.clear()
        told[key] = _told(queue, moment, asker, pick, skipped=skipped)
    return told[key](decision_id=decision_id, at=at)


def _told(queue: WorkspaceQueue, moment: Moment, asker: Asker, pick: Pick, *, skipped: bool) -> Told:
    """All of a decision that stays the same until something changes; what is left to say are its id and its time."""
    node, group = pick.node, queue.groups[pick.graph_id]
    scored = moment.scored(group, node, queue.snapshot.policy, queue.now)
    said = reasons(node, scored, queue.snapshot.policy)
    return partial(
        ScheduleDecision,
        graph_id=pick.graph_id,
        node_id=node.node_id,
        title=shown(node.title),
        repository=shown_or_none(node.repository),
        score=pick.score / MICRO,
        reasons=(*said, *_beside_the_score(pick, skipped=skipped)),
        factors=factors(node, scored),
        dispatch_hints=dispatch_hints(queue, asker, pick.graph_id, node),
        acl_commands=tuple(_acl_commands(node)),
        compile_command=_compile_command(node),
        skipped=skipped or None,
        agent_id=asker.agent_id or None,
    )


def _beside_the_score(pick: Pick, *, skipped: bool) -> Iterator[str]:
    """What else decided that it is this node, or kept it out."""
    if pick.passed_over:
        yield f"passed_over={pick.passed_over}"
    if skipped:
        yield "skipped_due_to_merge_pressure"


def dispatch_hints(queue: WorkspaceQueue, asker: Asker, graph_id: str, node: TaskNode) -> DispatchHints:
    """Return what whoever works on the node needs to know of it, and of what was done before."""
    rules = queue.groups[graph_id].rules
    item = rules.items.get(node.node_id)
    return DispatchHints(
        title=shown(node.title),
        graph_id=graph_id,
        priority=node.priority,
        estimated_tokens=effective_tokens(node),
        depends_on=tuple(name for name in node.depends_on if is_any_id(name)),
        handoff=Handoff(
            prompt=f"Work on node {node.node_id} of graph {graph_id}.",
            context_pack=shown_or_none(node.compiled_context_path, _LONGEST_WORD),
        ),
        project=shown_or_none(node.project),
        repository=shown_or_none(node.repository),
        agent_id=shown_or_none(node.agent_id),
        deadline=node.deadline,
        worktree=_worktree(queue, asker, node),
        intent=shown_or_none(node.intent_id),
        acceptance=None if node.acceptance is None else tuple(shown(line, 500) for line in node.acceptance),
        model_tier=node.model_tier,
        inputs=tuple(_inputs(rules, node)) or None,
        attempts=(None if item is None else tuple(_attempts(item))) or None,
        resume_from=None if item is None else resume_point(item),
    )


def _inputs(rules: GroupRules, node: TaskNode) -> Iterator[DependencyInput]:
    """What the direct dependencies reported that are done."""
    for name in dict.fromkeys(node.depends_on):
        item = rules.items.get(name)
        if item is not None and item.state == "completed" and item.result is not None:
            yield DependencyInput(
                node_id=name,
                summary=shown(item.result.summary, _LONGEST_NOTE),
                artifacts=tuple(shown(each, _LONGEST_WORD) for each in item.result.artifacts),
                evidence=tuple(shown(each, _LONGEST_WORD) for each in item.result.evidence),
            )


def _attempts(item: WorkItem) -> Iterator[AttemptRecord]:
    """The newest attempts, so that the next one is another one."""
    for each in item.attempts:
        yield AttemptRecord(
            agent_id=shown(each.agent_id), at=each.at, outcome=each.outcome, note=shown(each.note, _LONGEST_NOTE)
        )


def resume_point(item: WorkItem) -> ResumePoint | None:
    """Return the checkpoint from which the work can go on, if there is one."""
    point = item.checkpoint
    if point is None:
        return None
    return ResumePoint(
        checkpoint_id=shown(point.checkpoint_id),
        at=point.at,
        uri=shown_or_none(point.uri, _LONGEST_WORD),
        digest=shown_or_none(point.digest),
        note=shown_or_none(point.note, _LONGEST_NOTE),
    )


def _worktree(queue: WorkspaceQueue, asker: Asker, node: TaskNode) -> str | None:
    """The warm worktree of the node's repository: the asker's own first, then the first by path."""
    repository = repository_key(node.repository, node.project)
    trees = [
        tree
        for tree in queue.snapshot.surroundings.worktrees
        if tree.repository == repository and is_warm(tree, asker, queue.snapshot)
    ]
    best = min(trees, key=lambda tree: (tree.agent_id != asker.agent_id, tree.path), default=None)
    return None if best is None else shown_or_none(best.path, _LONGEST_WORD)


def _acl_commands(node: TaskNode) -> Iterator[str]:
    """The node's coordination commands, re-quoted; one that is no plain metagit command is left out."""
    for command in node.acl.acl_commands if node.acl is not None else ():
        if len(command) > _LONGEST_COMMAND:
            continue
        try:
            words = shlex.split(command)
        except ValueError:
            continue
        if words[:1] == ["metagit"]:
            yield shlex.join(shown(word, _LONGEST_WORD) for word in words)


def _compile_command(node: TaskNode) -> str | None:
    project, repository = shown(node.project or ""), shown(node.repository or "")
    if not project or not repository:
        return None
    name = repository.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if not name:
        return None
    project, name, node_id = map(shlex.quote, (project, name, node.node_id))
    return f"metagit context compile --project {project} --repo {name} --task-id {node_id}"


@value
class Explanation:
    """All that can be said of one node: every reason against it, or none, and what its score is made of."""

    graph_id: str
    node: TaskNode
    against: tuple[Reason, ...]
    score: int
    reasons: tuple[str, ...]
    factors: tuple[Factor, ...]


def explain(queue: WorkspaceQueue, asker: Asker, graph_id: str, node_id: str) -> Explanation:
    """Return why the asker may or may not start the node, and the score it has either way."""
    group = queue.groups[graph_id]
    node = group.rules.shape.by_id[node_id]
    scored = queue.moment(asker).scored(group, node, queue.snapshot.policy, queue.now)
    return Explanation(
        graph_id=graph_id,
        node=node,
        against=reasons_against(queue, asker, graph_id, node),
        score=scored.total(node),
        reasons=reasons(node, scored, queue.snapshot.policy),
        factors=factors(node, scored),
    )
