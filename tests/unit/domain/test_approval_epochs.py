"""An approval is for one ownership: the one there is, else the next one."""

from dataclasses import replace
from typing import Any

import pytest

from metagit_mcp.domain.approval import is_approved, needed_epoch
from metagit_mcp.domain.work import WorkItem, WorkState
from tests.snapshots import approval_of, task
from tests.unit.domain.played import NOON


@pytest.mark.parametrize(
    ("state", "owner", "epoch"),
    [
        ("open", None, 4),
        ("queued", "ada", 3),
        ("active", "ada", 3),
        ("blocked", "ada", 3),
        ("blocked", None, 4),
        ("submitted", "ada", 3),
        ("parked", None, 4),
        ("completed", "ada", 4),
        ("cancelled", None, 4),
    ],
)
def test_the_ownership_that_an_approval_is_for(state: WorkState, owner: str | None, epoch: int) -> None:
    names: dict[str, Any] = {"graph_id": "g", "node_id": "n", "changed_at": NOON, "ownership_epoch": 3}
    assert needed_epoch(WorkItem(**names, state=state, owner=owner)) == epoch


def test_nobody_had_it_yet() -> None:
    assert needed_epoch(None) == 1


def test_an_approval_holds_for_its_ownership_and_for_what_the_node_was() -> None:
    node = task("n", title="Drop the table")
    approval = replace(approval_of(node), epoch=2)
    other = replace(approval, digest="another")
    assert is_approved(node, [other, approval], 2)
    assert not is_approved(node, [other], 2)
    assert not is_approved(node, [approval], 1)
    assert not is_approved(node, [approval], 3)
