"""Whatever an agent does between two ends of its turn, no turn goes round in circles: each fact is told once."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from tests.interfaces.hooks.documented import HOSTS, SESSION
from tests.interfaces.hooks.fixtures import Workshop

WORKER = {"METAGIT_WORKER_MODE": "1"}
ACTS = ("nothing", "claim", "complete", "release", "fail", "expire", "revoke", "another agent claims")


def act(workshop: Workshop, name: str) -> int:
    """Do something between two ends of a turn; return how many leases of the agent it began or ended."""
    desk = workshop.desk
    held: list[Any] = desk.claim(SESSION, preview=False)["held"] if name in {"complete", "release", "fail"} else []
    if name == "claim":
        return len(desk.claim(SESSION)["decisions"])
    if name == "another agent claims":
        desk.claim("another")
    if name == "expire":
        desk.wait(2_000)
        return 1
    if name == "revoke":
        for row in desk.status()["running"]:
            if row.get("agent_id") == SESSION:
                desk.release(row["node_id"], note="mine", graph_id=row["graph_id"])
        return 1
    states = {"complete": "completed", "release": "released", "fail": "failed"}
    for lease in held:
        desk.report(lease["lease_id"], states[name], note="so")
    # The claim that looked for a lease may have begun one.
    return 2 if name in states else 0


@settings(max_examples=25, deadline=None)
@drawn(st.sampled_from(HOSTS), st.lists(st.sampled_from(ACTS), max_size=8), st.booleans())
def test_nothing_is_told_twice(host: str, acts: list[str], active: bool) -> None:  # noqa: FBT001 - hypothesis passes it by its name
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder))
        told: list[object] = []
        changes = 0
        for name in acts:
            changes += act(workshop, name)
            for _ in range(3):
                record = workshop.ask(host, "stop", WORKER, stop_hook_active=active).record
                if record:
                    told.append(record)
            assert len(told) <= changes
        assert all(told.count(each) == 1 for each in told)
        workshop.close()
