"""Isolation of slots and side effects: the requirements J of docs/reference/conformance.md."""

from metagit_mcp.application.work.leases import lease_record
from metagit_mcp.domain.decision import BudgetFigure, LeaseRecord
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.side_effects import side_effect_key
from metagit_mcp.domain.work import Usage
from tests.unit.domain.played import Played

POLICY = SchedulePolicy(
    agent_slots=2,
    groups={
        "g": GroupPolicy(context_refs=("shop",), credential_refs=("shop-deploy",)),
        "h": GroupPolicy(context_refs=("bank",), credential_refs=("bank-deploy",)),
    },
)


def test_a_slot_holds_what_is_its_own_and_nothing_of_another() -> None:
    """Claims J1."""
    played = Played(POLICY)
    one = played.start("n", graph_id="g", budget={"tokens": 100})
    two = played.start("n", graph_id="h", budget={"tokens": 50})
    played.report(two, "checkpointed", "half done", usage=Usage(tokens=20))
    record = lease_record(played.state.leases[one], played.state, POLICY, "w")
    assert record == LeaseRecord(
        lease_id=one,
        graph_id="g",
        node_id="n",
        agent_id="ada",
        ownership_epoch=1,
        session_epoch=1,
        expires_at=played.state.leases[one].expiry.at,
        mission_id="urn:metagit:w:g",
        budget=(BudgetFigure(name="tokens", limit=100, left=100),),
        context_refs=("shop",),
        credential_refs=("shop-deploy",),
    )
    assert played.item(graph_id="g").checkpoint is None


def test_the_key_of_an_effect_is_that_of_the_specification() -> None:
    """Claims J2."""
    mission = "urn:missionweaveprotocol:mission:one"
    item = "urn:missionweaveprotocol:work-item:implementation"
    key = side_effect_key(mission, item, 2, "deploy")
    assert key == "sha256:0674f09d5bf4856e62a6306666c39803ccb829a813dfd7e5a674a044d0df25dd"
    others = [(f"{mission}x", item, 2, "deploy"), (mission, "x", 2, "deploy"), (mission, item, 3, "deploy")]
    assert key not in {side_effect_key(*each) for each in [*others, (mission, item, 2, "roll back")]}
