"""Trying a policy on a workload in virtual time. Needs no workspace, and changes nothing."""

from dataclasses import replace
from typing import Literal

from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.simulate import simulate
from metagit_mcp.scheduling.simulation.measures import measured
from metagit_mcp.scheduling.simulation.outcome import Outcome
from metagit_mcp.scheduling.simulation.presets import preset
from metagit_mcp.scheduling.simulation.workload import Workload
from metagit_mcp.wire.simulation import SimulationAnswer, read_workload, simulation_answer


@value
class Simulation:
    """One run: the exact outcome, which pictures are drawn from, and the answer."""

    outcome: Outcome
    answer: SimulationAnswer


def simulation_of(text: str | None, name: str, seed: int, ordering: Literal["fair", "score"] | None) -> Simulation:
    """Return the run of the workload in a JSON text, or else of the preset of that name.

    `ordering` takes the place of the policy's.

    Raises:
        InvalidInput: the text means no workload.
    """
    workload = preset(name, seed) if text is None else read_workload(text)
    if ordering is not None:
        workload = _ordered(workload, ordering)
    outcome = measured(simulate(workload, seed))
    return Simulation(outcome=outcome, answer=simulation_answer(workload, seed, outcome))


def _ordered(workload: Workload, ordering: Literal["fair", "score"]) -> Workload:
    return replace(workload, policy=replace(workload.policy, ordering=ordering))
