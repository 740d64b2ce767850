"""Agents work for a Group of Events while servers are killed: what was begun stands, and is asked for under one id.

The Group is a small authority of its own, which answers as its protocol has it.
"""

from __future__ import annotations

import itertools
import signal
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.domain.outbox import action_id
from tests.groups import commands
from tests.groups.offered import offering
from tests.scenarios.attack import Run, Server
from tests.scenarios.group_logs import STILL, G, asked, cursor, delivered, killed, made, state_of, written

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
SEEDS = itertools.count()
BEFORE, AFTER = "ledger.appended", "ledger.committed"
MINE, THEIRS = "agent://acme/analyst", "agent://acme/coder"
CLAIM: Json = {"claim": True, "agent_id": MINE, "capabilities": ["software.python@1"]}


class Told:
    """A Group with two WorkItems, each offered to both agents, and a workspace that its log is delivered to."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.group = offering(G, items=2)
        self.tell()

    @property
    def news(self) -> list[bytes]:
        """What the log says and the workspace does not know."""
        return written(self.group.log[cursor(self.root) :])

    def tell(self) -> None:
        """Deliver it."""
        delivered(self.root, self.news)

    def outbox(self) -> list[Json]:
        """What the Group is to be asked for; estimates are only told to it."""
        proposals: list[Json] = asked(self.root, "group", "outbox", G)["proposals"]
        return [each for each in proposals if each["command"] != "schedule.estimate"]

    def ids(self) -> list[str]:
        """The action ids of that, as they lie in the ledger."""
        proposals = state_of(self.root).feeds[G].outbox.values()
        return [each.action_id for each in proposals if each.command != "schedule.estimate"]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(made(tmp_path / "workspace"))


def another() -> dict[str, str]:
    """The settings of a process that draws ids of its own."""
    return {**STILL, "METAGIT_MCP_IDS": f"agents {next(SEEDS)}"}


def crashed(root: Path, tool: str, **arguments: object) -> Json:
    """What a server answers, which is killed at once."""
    with Server(root, env=another()) as server:
        server.enter("2026-07-28")
        answer = server.ask(tool, **arguments)
        server.process.kill()
        assert (server.wait(), server.stderr) == (-signal.SIGKILL, "")
    return answer


def crashes(root: Path, point: str, tool: str, **arguments: object) -> None:
    """Ask a server that is killed at the point, before it answers."""
    with Server(root, env={**another(), "METAGIT_MCP_FAULT": point}) as server:
        server.enter("2026-07-28")
        server.begin("tools/call", {"name": f"metagit_{tool}", "arguments": arguments})
        assert (server.wait(), server.stderr) == (-signal.SIGKILL, f"{point}\n")


def lease_of(answer: Json) -> Json:
    """The one lease that a claim gave, or found."""
    (lease,) = [each["lease"] for each in answer["decisions"]] or answer["held"]
    return dict(lease)


def test_what_was_begun_is_asked_for_under_the_same_ids_until_the_log_answers(told: Told) -> None:
    root = told.root
    crashes(root, BEFORE, "schedule_next", **CLAIM)
    assert told.ids() == []
    crashes(root, AFTER, "schedule_next", **CLAIM)
    begun = told.outbox()
    # It was never answered; whoever asks again is told of the same lease.
    lease = lease_of(crashed(root, "schedule_next", **CLAIM))
    name = lease["lease_id"]
    assert [(each["command"], each["action_id"]) for each in begun] == [
        ("work.accept_offer", action_id("work.accept_offer", name)),
        ("work.start", action_id("work.start", name)),
    ]
    assert told.outbox() == begun
    # The Group accepts, in a delivery that is killed; then it starts.
    item = told.group.items[lease["node_id"]]
    commands.accept(told.group, (item, MINE))
    killed(root, told.news, BEFORE)
    assert told.ids() == [action_id("work.accept_offer", name), action_id("work.start", name)]
    killed(root, told.news, AFTER)
    assert told.ids() == [action_id("work.start", name)]
    commands.start(told.group, item)
    told.tell()
    assert told.ids() == []
    # The lease is still its agent's.
    assert lease_of(crashed(root, "schedule_next", **CLAIM)) == lease
    work = state_of(root).items[G][item.work_id]
    assert (work.state, work.owner, work.lease_id, work.ownership_epoch) == ("active", MINE, name, 1)


def test_what_was_done_is_submitted_once_and_ends_with_the_groups_verdict(told: Told) -> None:
    root = told.root
    lease = lease_of(crashed(root, "schedule_next", **CLAIM))
    item = told.group.items[lease["node_id"]]
    commands.accept(told.group, (item, MINE))
    commands.start(told.group, item)
    told.tell()
    assert item.lease is not None
    report: Json = {"lease_id": lease["lease_id"], "state": "completed", "result": {"summary": "done"}}
    crashes(root, BEFORE, "work_report", **report, action_id="x")
    assert told.ids() == []
    crashes(root, AFTER, "work_report", **report, action_id="x")
    (proposal,) = told.outbox()
    assert (proposal["command"], proposal["action_id"]) == ("work.submit", action_id("work.submit", lease["lease_id"]))
    assert proposal["payload"] == {"executionLeaseId": item.lease.lease_id, "summary": "done"}
    # Whoever has no answer says it again.
    assert crashed(root, "work_report", **report, action_id="x")["node_status"] == "submitted"
    assert told.outbox() == [proposal]
    commands.submit(told.group, item)
    told.tell()
    assert told.ids() == []
    commands.accept_result(told.group, item)
    told.tell()
    state = state_of(root)
    work = state.items[G][item.work_id]
    assert (work.state, work.fed and work.fed.state, state.leases) == ("completed", "verified", {})
    assert lease_of(crashed(root, "schedule_next", **CLAIM))["node_id"] != item.work_id


def test_whoever_the_log_names_is_the_owner_whatever_was_begun_here(told: Told) -> None:
    root = told.root
    lease = lease_of(crashed(root, "schedule_next", **CLAIM))
    item = told.group.items[lease["node_id"]]
    commands.accept(told.group, (item, THEIRS))
    killed(root, told.news, AFTER)
    assert told.ids() == []
    refused = crashed(root, "work_report", lease_id=lease["lease_id"], state="completed")
    assert refused["code"] == "WORK_STALE_OWNERSHIP"
    work = state_of(root).items[G][item.work_id]
    assert (work.lease_id, work.owner, work.fed and work.fed.owner) == (None, None, THEIRS)
    other = lease_of(crashed(root, "schedule_next", **CLAIM))
    assert other["node_id"] == next(each.work_id for each in told.group.items.values() if each is not item)


def test_a_refusal_of_the_group_undoes_what_was_begun_once(told: Told) -> None:
    root = told.root
    lease = lease_of(crashed(root, "schedule_next", **CLAIM))
    words = ("group", "answer", G, action_id("work.accept_offer", lease["lease_id"]), "refused", "--reason", "no room")
    for point, left in (
        (BEFORE, [action_id("work.accept_offer", lease["lease_id"]), action_id("work.start", lease["lease_id"])]),
        (AFTER, []),
    ):
        end = Run(root, *words, "--json", env={**STILL, "METAGIT_MCP_FAULT": point}).ended()
        assert (end.code, end.out, end.err.decode()) == (-signal.SIGKILL, b"", f"{point}\n")
        assert told.ids() == left
    assert state_of(root).leases == {}
    # It was taken out already, and there is nothing left to answer.
    assert asked(root, *words, code=4)["code"] == "INVALID_STATE_TRANSITION"
    assert lease_of(crashed(root, "schedule_next", **CLAIM))["lease_id"] != lease["lease_id"]
