"""What an asker brings, and whether that is what is asked for: a capability, at a version, or to be a certain agent.

Knows no queue.

`name` is met by whoever brings `name` at any version. `name@2` is met by version 2 and later ones, `name@1.4.0` by
later ones of the same major version, and both by a bare `name`: whoever wrote that vouched for all of them.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from metagit_mcp.domain.policy import SchedulePolicy, granted_capabilities
from metagit_mcp.scheduling.snapshot import Asker

_AGENT: Final = "agent:"


def asker_for(policy: SchedulePolicy, agent_id: str, capabilities: frozenset[str] | None) -> Asker:
    """Return the asker: where policy names the agent, what it claims to be able to do can only narrow that.

    Nobody claims to be another agent.
    """
    granted = granted_capabilities(policy, agent_id)
    brought = None if capabilities is None else frozenset(each for each in capabilities if not each.startswith(_AGENT))
    if granted is not None and brought is not None:
        return Asker(agent_id=agent_id, capabilities=granted & brought)
    return Asker(agent_id=agent_id, capabilities=(granted if granted is not None else brought) or frozenset())


def agent_capability(agent_id: str) -> str:
    """Return the capability that this agent alone has: to be it."""
    return f"{_AGENT}{agent_id}"


@lru_cache(maxsize=65_536)
def sets_asked(capabilities: tuple[str, ...], candidates: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Return the capability sets that a node names: its own, and for each agent that it is offered to, to be that."""
    own = (frozenset(capabilities),) if capabilities else ()
    return (*own, *(frozenset({agent_capability(each)}) for each in candidates))


def meets_all(asker: Asker, names: Iterable[str]) -> bool:
    """Say whether the asker brings all of these capabilities."""
    return asker.capabilities.issuperset(names) or all(meets(asker, name) for name in names)


def meets(asker: Asker, name: str) -> bool:
    """Say whether the asker brings this capability."""
    if name in asker.capabilities:
        return True
    if name.startswith(_AGENT):
        return bool(asker.agent_id) and name == agent_capability(asker.agent_id)
    return any(_is_enough(each, name) for each in asker.capabilities)


@lru_cache(maxsize=65_536)
def _is_enough(brought: str, asked: str) -> bool:
    own, _, has = brought.partition("@")
    wanted, _, needs = asked.partition("@")
    if own != wanted:
        return False
    return not has or not needs or _is_late_enough(has, needs)


def _is_late_enough(has: str, needs: str) -> bool:
    """Say whether one version does for another: a later one does, unless it is another major version of several parts.

    What has other parts than numbers is the very same version or none.
    """
    brought, asked = _numbers(has), _numbers(needs)
    if brought is None or asked is None:
        return has == needs
    if len(asked) > 1 and brought[0] != asked[0]:
        return False
    return brought >= asked


def _numbers(version: str) -> tuple[int, ...] | None:
    parts = version.partition("+")[0].split(".")
    return tuple(map(int, parts)) if all(part.isascii() and part.isdigit() for part in parts) else None
