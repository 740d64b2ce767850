"""The workflow of docs/how-to/github-actions.md: its steps are run by bash as a runner does, its jobs one by one.

Steps that use an action or install something are not run; what `${{ … }}` stands for is filled in as GitHub says.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from tests.recipes.blocks import program
from tests.recipes.frameworks import surroundings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.recipes.shop import Shop

PAGE: Final = "github-actions"
_END_S: Final = 100
_BASH: Final = shutil.which("bash") or "/bin/bash"
_EXPRESSION: Final = re.compile(r"\$\{\{ *(.*?) *\}\}")
_AGENT: Final = '#!/bin/sh\nprintf \'%s\\n\' "$*" >> "$WORKED"\ncase " ${FAILS:-} " in *" $2 "*) exit 1 ;; esac\n'
Json = dict[str, Any]


@pytest.fixture(scope="module")
def workflow() -> Json:
    """The workflow as YAML says it."""
    read: Json = yaml.safe_load(program(PAGE, ".github/workflows/agents.yml"))
    return read


@dataclass
class Job:
    """One job of a run: what its expressions stand for, and how its steps ended."""

    shop: Shop
    job: Json
    context: dict[str, str]
    variables: dict[str, str]
    outcomes: list[tuple[str, str]] = field(default_factory=list)

    def run(self) -> dict[str, str]:
        """Run the steps in order, each in a bash of its own; return what the job's context has in the end."""
        for step in self.job["steps"]:
            if "uses" in step or step["name"] == "Install":
                continue
            self._step(step)
        return self.context

    def _step(self, step: Json) -> None:
        name = step.get("id", step["name"])
        if not self._is_due(step.get("if", "success()")):
            self.context[f"steps.{name}.outcome"] = "skipped"
            return
        output = self.shop.root.parent / "output"
        output.write_text("")
        own = {key: self._filled(str(text)) for key, text in {**self.job.get("env", {}), **step.get("env", {})}.items()}
        done = _bash(self.shop, self._filled(step["run"]), {**self.variables, **own, "GITHUB_OUTPUT": str(output)})
        outcome = "success" if done.returncode == 0 else "failure"
        self.outcomes.append((step["name"], outcome))
        self.context[f"steps.{name}.outcome"] = outcome
        for line in output.read_text().splitlines():
            key, _, text = line.partition("=")
            self.context[f"steps.{name}.outputs.{key}"] = text

    def _is_due(self, condition: str) -> bool:
        *terms, last = condition.split(" && ")
        assert set(terms) <= {"always()"}, condition
        has_failed = any(outcome == "failure" for _, outcome in self.outcomes)
        if has_failed and "always()" not in terms:
            return False
        return last == "success()" or bool(self.context.get(last))

    def _filled(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: self.context.get(found[1], ""), text)


def _bash(shop: Shop, script: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner on Linux does that is told no shell."""
    path = shop.root.parent / "step.sh"
    path.write_text(script)
    return subprocess.run(
        [_BASH, "-e", str(path)],
        cwd=shop.root,
        env=surroundings(shop.root.parent, WORKED=str(_worked(shop)), **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_END_S,
        check=False,
    )


def _worked(shop: Shop) -> Path:
    return shop.root.parent / "worked"


def _planned(workflow: Json, shop: Shop) -> list[int]:
    """The agents for which the matrix is made."""
    variables = {"AT_MOST": str(workflow["env"]["AT_MOST"])}
    context = Job(shop, workflow["jobs"]["plan"], {}, variables).run()
    told = workflow["jobs"]["plan"]["outputs"]["agents"]
    agents: list[int] = json.loads(_EXPRESSION.sub(lambda found: context[found[1]], told))
    return agents


def _worked_on(workflow: Json, shop: Shop, agent: int, attempt: int = 1, **variables: str) -> Job:
    (shop.root / "agent.sh").write_text(_AGENT)
    (shop.root / "agent.sh").chmod(0o755)
    context = {"github.run_id": "77", "github.run_attempt": str(attempt), "matrix.agent": str(agent)}
    job = Job(shop, workflow["jobs"]["work"], context, variables)
    job.run()
    return job


def test_the_matrix_is_made_of_the_plan(workflow: Json) -> None:
    work = workflow["jobs"]["work"]
    assert (work["needs"], work["if"]) == ("plan", "needs.plan.outputs.agents != '[]'")
    assert work["strategy"]["matrix"] == {"agent": "${{ fromJSON(needs.plan.outputs.agents) }}"}
    assert work["timeout-minutes"] < 4 * 60


def test_a_run_starts_as_many_agents_as_there_is_work_for(workflow: Json, shop: Shop) -> None:
    assert _planned(workflow, shop) == [1, 2]
    assert shop.history() == []
    jobs = [_worked_on(workflow, shop, agent) for agent in (1, 2)]
    assert [job.outcomes for job in jobs] == [
        [("Take a node", "success"), ("Work", "success"), ("Report", "success")]
    ] * 2
    assert _worked(shop).read_text().splitlines() == ["shop search", "shop cart"]
    assert shop.history() == [
        (what, name, f"actions/77/{agent}")
        for agent, name in enumerate(("search", "cart"), start=1)
        for what in ("started", "completed")
    ]
    assert _planned(workflow, shop) == [1]


def test_a_job_that_finds_nothing_is_green_and_does_nothing(workflow: Json, shop: Shop) -> None:
    for node_id in ("search", "cart"):
        shop.metagit("work", "start", node_id, "--agent-id", f"somebody/{node_id}")
    assert _planned(workflow, shop) == []
    assert _worked_on(workflow, shop, 1).outcomes == [("Take a node", "success")]
    assert not _worked(shop).exists()


def test_a_job_that_fails_says_so_and_its_next_attempt_claims_anew(workflow: Json, shop: Shop) -> None:
    job = _worked_on(workflow, shop, 1, FAILS="search")
    assert job.outcomes == [("Take a node", "success"), ("Work", "failure"), ("Report", "success")]
    assert [body["note"] for body in shop.bodies("work_failed")] == ["run 77-1-1 failed"]
    assert _worked_on(workflow, shop, 1, attempt=2).context["steps.claim.outputs.node_id"] == "cart"


def test_a_step_that_is_repeated_gets_the_same_node(workflow: Json, shop: Shop) -> None:
    work = workflow["jobs"]["work"]
    claims = {**work, "steps": [step for step in work["steps"] if step.get("id") == "claim"]}
    context = {"github.run_id": "77", "github.run_attempt": "1", "matrix.agent": "1"}
    first, again = (Job(shop, claims, dict(context), {}).run() for _ in range(2))
    assert (first, first["steps.claim.outputs.node_id"]) == (again, "search")
    assert [what for what, *_ in shop.history()] == ["started"]


def test_a_job_that_is_cancelled_gives_its_node_back(workflow: Json, shop: Shop) -> None:
    lease = shop.metagit("schedule", "next", "--claim", "--agent-id", "actions/77/1")["decisions"][0]["lease"]
    work = workflow["jobs"]["work"]
    reports = {**work, "steps": work["steps"][-1:]}
    context = {"github.run_id": "77", "github.run_attempt": "1", "matrix.agent": "1"}
    before = {"steps.claim.outputs.lease_id": lease["lease_id"], "steps.work.outcome": "cancelled"}
    Job(shop, reports, {**context, **before}, {}).run()
    assert shop.history()[-1] == ("released", "search", "actions/77/1")


def test_an_error_ends_the_step(workflow: Json, shop: Shop) -> None:
    (shop.root / ".metagit/schedule").mkdir(exist_ok=True)
    (shop.root / ".metagit/schedule/policy.json").write_text("{")
    job = Job(shop, workflow["jobs"]["plan"], {}, {"AT_MOST": "4"})
    job.run()
    assert [outcome for _, outcome in job.outcomes] == ["failure"]
