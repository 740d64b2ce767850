"""What scenarios about claims share: a refusal as its code, and who has what at this moment. No expectation."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import MetagitError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.application.desk import Desk, Json

POLICY = "schedule/policy.json"


def refusal(call: Callable[[], object]) -> MetagitError:
    """The error with which a call is refused."""
    with pytest.raises(MetagitError) as caught:
        call()
    return caught.value


def refused(call: Callable[[], object]) -> str:
    """The code of that error."""
    return refusal(call).code


def held(desk: Desk, agent_id: str) -> list[tuple[str, str]]:
    """The leases of an agent, by node; asking takes nothing, since scheduling is paused meanwhile."""
    desk.pause("agent", agent_id)
    answer = desk.claim(agent_id)
    desk.resume("agent", agent_id)
    assert answer["decisions"] == []
    return [(each["node_id"], each["lease_id"]) for each in answer["held"]]


def reasons(desk: Desk, node_id: str, graph_id: str | None = None) -> list[str]:
    """Every reason against a node."""
    told: Json = desk.status(node_id=node_id, graph_id=graph_id)["explain"]
    return [each["text"] for each in told["reasons"]]


def counts(answer: Json) -> dict[str, int]:
    """How many nodes are not eligible, by their first reason."""
    return {each["reason"]: each["nodes"] for each in answer["not_eligible"]}


def given(answer: Json) -> list[str]:
    """The nodes of an answer."""
    return [each["node_id"] for each in answer["decisions"]]


def told(desk: Desk, kind: str) -> list[Json]:
    """Every event of one kind in the ledger, in order."""
    return told_by(desk.path("schedule/ledger.db"), kind)


def told_by(path: Path, kind: str) -> list[Json]:
    """The same of the ledger at `path`."""
    with closing(sqlite3.connect(path)) as ledger:
        found = ledger.execute("SELECT body FROM event WHERE kind = ? ORDER BY position", (kind,)).fetchall()
    return [json.loads(body) for (body,) in found]
