"""Scores, reasons and order are those of metagit-cli's scheduler, on 10,000 random nodes under several policies.

Where the exact score lies on half a micro, metagit's depends on the last bit of a double; there, and only there, the
two may differ. Which scores those are is computed here, with fractions, from the files alone. The workloads avoid
what is a known deviation of ours: repositories have their canonical spelling, every graph is active, no node has a
deadline or an urgency, and nothing was decided before.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from metagit_mcp.bootstrap import open_application
from metagit_mcp.scheduling.cycle import plan
from metagit_mcp.scheduling.explain import explain
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.settings import settings_from
from tests.interop.peer import Metagit
from tests.scenarios.at_once import AT_ONCE
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

pytestmark = pytest.mark.interop

NODES = 10_000
GRAPHS = 40
HALF = Fraction(1, 2)
MICRO = 1_000_000
# What makes our order the classic four-factor one; metagit does not read these keys.
CLASSIC = {
    "ordering": "score",
    "pass_over_limit": 0,
    "affinity": {"require_path": False},
    "skip_on_merge_pressure": False,
}

POLICIES: dict[str, dict[str, Any]] = {
    "defaults": {
        "weights": {"priority": 1.0, "affinity": 0.5, "cost": 0.25, "fairness": 0.0},
        "merge_queue_threshold": 3,
        "merge_pressure_penalty": 2.0,
    },
    "six_places": {
        "weights": {"priority": 0.333333, "affinity": 1.234567, "cost": 3.141592, "fairness": 0.05},
        "merge_queue_threshold": 1,
        "merge_pressure_penalty": 0.000001,
        "graph_overrides": {
            "g0003": {"priority": 2.5},
            "g0007": {"cost": 0.000001, "fairness": 0.0},
            "g0011": {"priority": 0.1, "affinity": 0.0, "cost": None, "fairness": 7.000001},
        },
    },
    "cost_only": {
        "weights": {"priority": 0.0, "affinity": 0.000003, "cost": 0.25, "fairness": 0.0},
        "merge_queue_threshold": 4,
        "merge_pressure_penalty": 0.1,
        "graph_overrides": {"g0000": {"cost": 0.75}, "g0039": {"fairness": 1.0}},
    },
    "nothing_counts": {
        "weights": {"priority": 0, "affinity": 0, "cost": 0, "fairness": 0},
        "merge_queue_threshold": 100,
        "merge_pressure_penalty": 0,
    },
}

Key = tuple[str, str]


class Ranked(NamedTuple):
    """One ready node at its place in a ranking."""

    graph_id: str
    node_id: str
    score_micros: int
    reasons: tuple[str, ...]

    @property
    def key(self) -> Key:
        return self.graph_id, self.node_id


class Exact(NamedTuple):
    """What a node's score must be: in micros, not rounded."""

    micros: Fraction
    tokens: int

    @property
    def is_tie(self) -> bool:
        return self.micros % 1 == HALF

    def roundings(self) -> set[int]:
        """The whole micros nearest to it: one, or two if it lies half-way."""
        below = floor(self.micros)
        return {below, below + 1} if self.is_tie else {floor(self.micros + HALF)}


def ours(root: Path) -> list[Ranked]:
    """Every ready node of the workspace, as this project ranks them."""
    application = open_application(settings_from({}, workspace=str(root)), surface="cli", waits=AT_ONCE)
    with closing(application):
        queue = asyncio.run(application.current.view()).queue
    asker = Asker()
    # A plan starts one node after another, which changes who is under-represented: here all are ranked as they are.
    every = [
        (explain(queue, asker, graph_id, entry[2]), entry[1])
        for graph_id, group in queue.groups.items()
        for entry in list(group.lanes.entries())
    ]
    every.sort(key=lambda each: (-each[0].score, each[1], each[0].node.node_id, each[0].graph_id))
    ranked = [Ranked(told.graph_id, told.node.node_id, told.score, told.reasons) for told, _ in every]
    (first,) = plan(queue, asker, 1).picks
    assert (first.graph_id, first.node.node_id, first.score) == (
        ranked[0].graph_id,
        ranked[0].node_id,
        ranked[0].score_micros,
    )
    return ranked


def theirs(root: Path) -> list[Ranked]:
    """Every ready node of the workspace, as metagit ranks them."""
    return [
        Ranked(row["graph_id"], row["node_id"], round(row["score"] * MICRO), tuple(row["reasons"]))
        for row in Metagit(root).ranking()
    ]


class Scores:
    """The exact score of every ready node, from nothing but the files of a workload."""

    def __init__(self, root: Path) -> None:
        self.folder = root / ".metagit"
        self.policy = self._read("schedule/policy.json")
        worktrees = self._read("worktrees/worktrees.json")["worktrees"]
        self.warm = {row["repository"] for row in worktrees if row["status"] == "active"}
        merges = [self._read(path) for path in (self.folder / "merges").glob("*-*.json")]
        open_merges = [row["repository"] for row in merges if row["status"] in {"queued", "running"}]
        threshold = self.policy["merge_queue_threshold"]
        self.pressed = {name for name in open_merges if open_merges.count(name) >= threshold}

    def _read(self, path: str | Path) -> Any:  # noqa: ANN401 - any JSON document of a workload
        return json.loads((self.folder / path).read_text(encoding="utf-8"), parse_float=Fraction)

    def all(self) -> dict[Key, Exact]:
        graphs = [self._read(path)["nodes"] for path in (self.folder / "tasks/graphs").glob("*.json")]
        return {(node["graph_id"], node["node_id"]): self._exact(node) for nodes in graphs for node in ready(nodes)}

    def _exact(self, node: Mapping[str, Any]) -> Exact:
        override = self.policy.get("graph_overrides", {}).get(node["graph_id"], {})
        given = {name: value for name, value in override.items() if value is not None}
        weight = {name: Fraction(value) for name, value in (self.policy["weights"] | given).items()}
        repository, tokens = node["repository"], estimate(node)
        score = weight["priority"] * node["priority"] + weight["cost"] * Fraction(1000, 1000 + tokens)
        # With no decision logged, every repository is equally seldom served.
        score += weight["affinity"] * (repository in self.warm) + weight["fairness"] * (repository is not None)
        score -= Fraction(self.policy["merge_pressure_penalty"]) * (repository in self.pressed)
        return Exact(score * MICRO, tokens)


def ready(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    done = {node["node_id"] for node in nodes if node["status"] == "completed"}
    return [node for node in nodes if node["status"] in {"pending", "ready"} and done.issuperset(node["depends_on"])]


def estimate(node: Mapping[str, Any]) -> int:
    given = (node["estimated_tokens"], node["context_budget"], 1000)
    return next(tokens for tokens in given if tokens is not None and tokens >= 0)


def workload(root: Path, policy: str) -> dict[Key, Exact]:
    """Write the workload of a policy; the exact scores of its ready nodes."""
    weights = {**POLICIES[policy]["weights"], "dependency": 0}
    write_workspace(
        root,
        nodes=NODES,
        graphs=GRAPHS,
        shape="mixed" if policy == "defaults" else "ready",
        seed=sorted(POLICIES).index(policy),
        worktrees=9,
        merges=33,
        policy={**POLICIES[policy], **CLASSIC, "weights": weights},
    )
    return Scores(root).all()


def wrong_scores(ranking: Iterable[Ranked], exact: Mapping[Key, Exact]) -> dict[Key, tuple[int, Fraction]]:
    return {
        row.key: (row.score_micros, exact[row.key].micros)
        for row in ranking
        if row.score_micros not in exact[row.key].roundings()
    }


def misplaced(ranking: list[Ranked], exact: Mapping[Key, Exact]) -> list[tuple[Ranked, Ranked]]:
    """Neighbours that do not stand by score, tokens, node id, graph id."""

    def order(row: Ranked) -> tuple[int, int, str, str]:
        return -row.score_micros, exact[row.key].tokens, row.node_id, row.graph_id

    return [(one, two) for one, two in pairwise(ranking) if order(one) > order(two)]


def without(ranking: Iterable[Ranked], keys: set[Key]) -> list[Ranked]:
    return [row for row in ranking if row.key not in keys]


@pytest.mark.parametrize("policy", POLICIES)
def test_metagits_ranking_is_what_the_files_say_exactly(tmp_path: Path, policy: str) -> None:
    exact = workload(tmp_path, policy)
    ranking = theirs(tmp_path)

    assert sorted(row.key for row in ranking) == sorted(exact)
    assert wrong_scores(ranking, exact) == {}
    assert misplaced(ranking, exact) == []


@pytest.mark.parametrize("policy", POLICIES)
def test_our_ranking_is_metagits(tmp_path: Path, policy: str) -> None:
    exact = workload(tmp_path, policy)
    mine, other = ours(tmp_path), theirs(tmp_path)
    reasons = {row.key: row.reasons for row in other}
    micros = {row.key: row.score_micros for row in other}
    differing = {row.key for row in mine if row.score_micros != micros.get(row.key)}

    assert sorted(row.key for row in mine) == sorted(exact)
    assert {row.key: (row.reasons, reasons[row.key]) for row in mine if row.reasons != reasons[row.key]} == {}
    assert wrong_scores(mine, exact) == {}
    assert {key for key in differing if not exact[key].is_tie} == set()
    assert misplaced(mine, exact) == []
    assert without(mine, differing) == without(other, differing)


def test_the_workloads_hold_exact_ties(tmp_path: Path) -> None:
    exact = workload(tmp_path, "cost_only")

    assert len([score for score in exact.values() if score.is_tie]) > NODES // 100
