"""Who brings what is asked for: names, versions, and being a certain agent."""

from __future__ import annotations

import pytest

from metagit_mcp.domain.limits import AgentPolicy
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.scheduling.capabilities import agent_capability, asker_for, meets, meets_all
from metagit_mcp.scheduling.snapshot import Asker


@pytest.mark.parametrize(
    ("brought", "asked", "does"),
    [
        ("python", "python", True),
        ("python", "python@3", True),
        ("python@3", "python", True),
        ("python@3", "python@3", True),
        ("python@3", "python@2", True),
        ("python@2", "python@3", False),
        ("python@10", "python@9", True),
        ("python@1.4.2", "python@1.4.2", True),
        ("python@1.10.0", "python@1.9.0", True),
        ("python@1.4.0", "python@1.4.1", False),
        ("python@2.0.0", "python@1.4.0", False),
        ("python@2.0.0", "python@1", True),
        ("python@1.4.0+build", "python@1.4.0", True),
        ("python@1.4.0-rc1", "python@1.4.0-rc1", True),
        ("python@1.4.0-rc1", "python@1.4.0-rc2", False),
        ("python@1.4.0-rc1", "python@1.4.0", False),
        ("python@1.²", "python@1.1", False),
        ("python@", "python@2", True),
        ("pythons", "python", False),
        ("go@3", "python@3", False),
    ],
)
def test_a_version_does_for_earlier_ones(brought: str, asked: str, *, does: bool) -> None:
    asker = Asker(capabilities=frozenset({brought, "other"}))
    assert meets(asker, asked) == does
    assert meets_all(asker, ("other", asked)) == does


@pytest.mark.parametrize(
    ("agent_id", "asked", "is_meant"),
    [
        ("w1", "w1", True),
        ("w1", "w2", False),
        ("w1", "w", False),
        ("", "", False),
        ("agent://acme/a@1", "agent://acme/a@1", True),
    ],
)
def test_only_an_agent_itself_is_that_agent(agent_id: str, asked: str, *, is_meant: bool) -> None:
    assert meets(Asker(agent_id=agent_id, capabilities=frozenset({"w2", "w"})), agent_capability(asked)) == is_meant


def test_nobody_claims_to_be_another_agent() -> None:
    claimed = frozenset({"python", agent_capability("w2")})
    assert asker_for(SchedulePolicy(), "w1", claimed) == Asker(agent_id="w1", capabilities=frozenset({"python"}))


@pytest.mark.parametrize(
    ("claimed", "brought"),
    [(None, {"go", "python"}), (frozenset({"python", "c"}), {"python"}), (frozenset[str](), set())],
)
def test_what_policy_grants_is_only_narrowed(claimed: frozenset[str] | None, brought: set[str]) -> None:
    policy = SchedulePolicy(agents={"w*": AgentPolicy(capabilities=("go", "python"))})
    assert asker_for(policy, "w1", claimed) == Asker(agent_id="w1", capabilities=frozenset(brought))


def test_who_says_nothing_brings_nothing() -> None:
    assert asker_for(SchedulePolicy(), "w1", None) == Asker(agent_id="w1")
