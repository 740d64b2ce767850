"""Whatever other Groups are and do, one Group is told the same, byte by byte (work.md §7; ADR 0032).

Two worlds differ in other Groups alone. What may differ is whether somebody is to make room, and that a start is
refused for lack of a slot, a resource, a key or files: that fact, without who holds it and how much of it is held.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from hypothesis import event, given, settings

from tests.properties.other_groups import Others, World, nodes, others, policies, steps, world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.properties.other_groups import Step

Json = dict[str, Any]
# What other Groups may be the cause of.
SHARED: Final = (
    *("exclusive", "conflicts_with", "resource_busy", "never_fits", "agent_slots", "reserved", "no_slot"),
    "queue_capacity",
)
TURNS: Final = 14


def is_shared(reason: str, policy: Json) -> bool:
    """Whether other Groups may be the cause of a reason; it says no more than the policy does."""
    kind, _, detail = reason.partition("(")
    if kind not in SHARED:
        return False
    named = "held by" in detail or detail.startswith("for ") or (kind == "conflicts_with" and detail)
    bare = {
        *(f"limit {policy[key]})" for key in ("slots", "queue_capacity")),
        f"limit {policy['agents']['agent://acme/*']['slots']})",
        *("", "lock)", "key)", "api, capacity 3)"),
        *(f"{width} slots{more})" for width in (2, 4) for more in ("", f", limit {policy['slots']}", ", limit 2")),
    }
    assert named or detail in bare, reason
    return True


def without_shared(refused: Json, policy: Json) -> Json | None:
    """A refusal without the reasons that others may be the cause of; None where nothing else is left."""
    reasons = refused.get("details", {}).get("reasons")
    if reasons is None:
        return refused
    assert refused["message"] == f"Node {refused['details']['node_id']} may not be started: {'; '.join(reasons)}."
    left = [each for each in reasons if not is_shared(each, policy)]
    return {"node_id": refused["details"]["node_id"], "reasons": left} if left else None


def as_said(answer: Json) -> str:
    """An answer as it is compared: without whether somebody is to make room, and what to do then."""
    said = {name: each for name, each in answer.items() if name not in {"preempt_requested", "next_step"}}
    is_asked = answer.get("preempt_requested") or answer.get("lease", {}).get("preempt_requested")
    if "lease" in said:
        said["lease"] = {name: each for name, each in said["lease"].items() if name != "preempt_requested"}
    return json.dumps(said if is_asked else {**said, "next_step": answer.get("next_step")})


def went_alike(policy: Json, one: World, two: World, step: Step) -> None:
    """Take a step in both worlds, a second time where others kept it from being taken in one of them."""
    answers = (one.step(step), two.step(step))
    left = [without_shared(each, policy) for each in answers]
    if None in left and left != [None, None]:
        event("others kept the Group from a start in one world")
        one.make_way()
        two.make_way()
        answers = (one.step(step), two.step(step))
        left = [without_shared(each, policy) for each in answers]
    if any(each is None or "reasons" in each for each in left):
        assert left[0] == left[1], answers
        return
    asked = {
        "make room" in each.get("next_step", "") or "Somebody waits" in each.get("next_step", "") for each in answers
    }
    if len(asked) == 2:
        event("somebody is to make room in one world")
        answers = ({**answers[0], "next_step": ""}, {**answers[1], "next_step": ""})
    assert as_said(answers[0]) == as_said(answers[1])


# Each goes through two workspaces with all their files.
@settings(max_examples=settings().max_examples // 2)
@given(policies(), nodes("n", 5, least=2), steps(), others(TURNS), others(TURNS))
def test_one_group_is_told_the_same_whatever_the_others_are_and_do(
    policy: Json, own: Sequence[Json], taken: list[Step], here: Others, there: Others
) -> None:
    with world(policy, own, here) as one, world(policy, own, there) as two:
        for step in taken:
            one.others_go_on()
            two.others_go_on()
            assert one.estimates() == two.estimates()
            went_alike(policy, one, two, step)
