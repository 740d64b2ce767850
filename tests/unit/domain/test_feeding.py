"""What the rarer Events of a Group's log mean for its work and its members."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.domain import group_facts as facts
from metagit_mcp.domain.feeds import Contract, Member
from tests.unit.domain.fed_log import ME, G, Log, N, running

if TYPE_CHECKING:
    from metagit_mcp.domain.feeds import FedItem


def told_of(log: Log, node_id: str = N) -> FedItem:
    fed = log.state.items[G][node_id].fed
    assert fed is not None
    return fed


@pytest.mark.parametrize(
    ("fact", "names", "state"),
    [(facts.WorkStuck, {}, "blocked"), (facts.WorkLost, {"fenced": True}, "failed")],
    ids=["blocked", "failed"],
)
def test_where_a_child_mission_failed_nobody_owns_the_work_any_more(
    fact: object, names: dict[str, bool], state: str
) -> None:
    log = running()
    before = told_of(log)
    after = told_of(log.told(fact, node_id=N, reason="the child failed", **names))
    assert (after.state, after.owner, after.note) == (state, None, "the child failed")
    assert after.ownership_epoch == before.ownership_epoch + 1


def test_a_new_dependency_is_one_once() -> None:
    log = running()
    shape = log.state.feeds[G].shape
    for _ in range(2):
        log.told(facts.DependencyAdded, node_id=N, dependency_id="work:first")
    feed = log.state.feeds[G]
    assert feed.nodes[N].depends_on == ("work:first",)
    assert feed.shape == shape + 1
    assert log.told(facts.DependencyAdded, node_id="work:unseen", dependency_id=N).state.feeds[G].shape == shape + 1


def test_the_end_of_a_mission_ends_no_work_of_another() -> None:
    log = running().told(facts.WorkAuthorized, node=Contract(node_id="work:other"), mission_id="other")
    log.told(facts.MissionEnded, mission_id="m", outcome="cancelled")
    assert (told_of(log).state, told_of(log).note) == ("cancelled", "Mission cancelled")
    assert told_of(log, "work:other").state == "open"
    assert log.state.feeds[G].ended == ("m",)


def test_an_ended_membership_keeps_its_roles_under_the_next_epoch() -> None:
    log = running()
    before = log.state.feeds[G].members[ME]
    log.told(facts.MembershipChanged, agent_id=ME, status="ended", epoch=before.epoch, roles=())
    assert log.state.feeds[G].members[ME] == Member(epoch=before.epoch + 1, status="ended", roles=("worker",))
