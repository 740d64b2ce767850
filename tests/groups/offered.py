"""A Group whose members are offered work, and the ways its log takes into a workspace. It must not know the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.group_requests import DeliverRequest
from tests.groups import commands
from tests.groups.authority import FIRST, Authority
from tests.scenarios.at_once import finished

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

Json = dict[str, Any]
CODER = "agent://acme/coder"
CAPABLE = ["software.python"]


class Simplest:
    """Choices of which each is the simplest."""

    def number(self, low: int, high: int) -> int:
        assert low <= high
        return low


def offering(group_id: str = "group:cli", items: int = 1) -> Authority:
    """A Group of which every WorkItem is offered to all of its members."""
    group = Authority(Simplest(), group_id)
    commands.open_group(group)
    for _ in range(items):
        commands.offer(group, commands.authorize(group, next(iter(group.missions))), *group.seats)
    return group


def at_the_beginning(desk: Desk) -> Desk:
    """Let it be the time at which the logs begin."""
    desk.set_clock(FIRST, 0)
    return desk


def deliver(desk: Desk, events: object, group_id: str = "group:cli", **declared: object) -> Json:
    """Deliver Events as a tool does."""
    request = parse_request(DeliverRequest, {"group_id": group_id, "events": events, **declared})
    return plain(finished(desk.application.groups.deliver(request)))
