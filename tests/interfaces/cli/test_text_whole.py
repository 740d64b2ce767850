"""What a person acts on is whole in a pipe too, where titles are cut."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metagit_mcp.wire.responses import ReasonCount
from metagit_mcp.wire.status_answers import PersonNeeded
from tests.interfaces.cli.fake_application import full_status

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interfaces.cli.conftest import Ended

    Run = Callable[..., Ended]


def test_in_a_pipe_why_a_group_waits_and_which_file_to_mend_is_whole(run: Run) -> None:
    status = full_status()
    waits = tuple(ReasonCount(reason=kind, nodes=12) for kind in ("awaiting_approval", "conflicts_with", "no_slot"))
    group = replace(status.groups[0], graph_id="documentation", title="T" * 99, waits_for=waits)
    file = f".metagit/tasks/graphs/{'g' * 90}.json"
    torn = PersonNeeded(graph_id="g" * 90, reason="graph_invalid", file=file)
    need = (torn, replace(torn, node_id="spent", title="T"))
    shown = run(
        "schedule", "status", schedule_status=replace(status, groups=(group,), needs_person=need)
    ).out.splitlines()
    ends = ("2, conflicts_with 12, no_slot 12", f"graph_invalid  {file}", f"  change {file}: spent")
    assert [sum(line.endswith(end) for line in shown) for end in ends] == [1, 1, 1]
