"""A workspace beside a Group that is fed by Events, in which all happens when a test says so.

It must not know what a test expects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from metagit_mcp.errors import MetagitError
from tests.groups import commands
from tests.groups.answering import Way, state_of
from tests.groups.authority import FIRST, Authority, Item
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from metagit_mcp.domain.feeds import Proposal
    from metagit_mcp.domain.work import WorkItem

Json = dict[str, Any]
G: Final = "group:cli"
ME, OTHER, TESTER = commands.AGENTS[0], commands.AGENTS[1], commands.AGENTS[3]
POLICY: Final = "schedule/policy.json"
ACCEPT, START, CHECKPOINT = "work.accept_offer", "work.start", "work.checkpoint"


class Lowest:
    """The simplest of each choice: an offer of 10 minutes, an ownership of an hour, a lease of 10 minutes."""

    def number(self, low: int, high: int) -> int:
        assert low <= high
        return low


class Scene:
    """A workspace beside a Group with members; acts are answered when the scene says so."""

    def __init__(self, desk: Desk, group_id: str = G) -> None:
        desk.set_clock(FIRST, 0)
        self.desk = desk
        self.group = Authority(Lowest(), group_id)
        self.way = Way(self.group)
        commands.create_mission(self.group, "mission:one")
        for name in (ME, OTHER, TESTER):
            commands.join(self.group, name)

    def offered(self, *candidates: str, **contract: object) -> Item:
        """A new WorkItem that is offered to these agents, as the workspace knows."""
        item = commands.authorize(self.group, "mission:one", **{"needs": (), **contract})
        if candidates:
            commands.offer(self.group, item, *candidates)
        self.way.deliver(self.desk)
        return item

    def running(self, *candidates: str, **contract: object) -> tuple[Item, str]:
        """A WorkItem on which the first of its candidates works, as the Group knows; and the lease."""
        item = self.offered(*(candidates or (ME,)), **contract)
        lease_id = self.start(item)
        self.answer()
        return item, lease_id

    def start(self, item: Item, agent: str = ME, **fields: object) -> str:
        lease_id: str = self.desk.start(item.work_id, agent, **fields)["lease"]["lease_id"]
        return lease_id

    def accept(self, item: Item, agent: str = ME) -> Json:
        owned: Json = self.desk.start(item.work_id, agent, queue_only=True)["ownership"]
        return owned

    def told(self, act: Callable[..., object], item: Item, *more: object) -> None:
        """The Group goes on with an item, and the workspace hears of it."""
        act(self.group, item, *more)
        self.way.deliver(self.desk)

    def answer(self) -> list[str]:
        """All that was asked for is carried out where the Group allows it, and told; return what it refused."""
        refused = self.way.carry_all(self.desk)
        self.way.deliver(self.desk)
        return refused

    def wait(self, seconds: int) -> None:
        self.desk.wait(seconds)
        self.group.wait(seconds)

    # --- what is compared ---

    def item(self, item: Item) -> WorkItem:
        return state_of(self.desk).items[self.group.group_id][item.work_id]

    def here(self, item: Item) -> tuple[str, str | None, int]:
        found = self.item(item)
        return found.state, found.owner, found.ownership_epoch

    def there(self, item: Item) -> tuple[str, str | None, int]:
        fed = self.item(item).fed
        assert fed is not None
        return fed.state, fed.owner, fed.ownership_epoch

    @property
    def asked(self) -> list[str]:
        return [command for command, _, __ in self.way.asked(self.desk)]

    @property
    def proposals(self) -> list[Proposal]:
        return [each for each in self.way.outbox(self.desk) if each.command != "schedule.estimate"]

    def reasons(self, item: Item) -> list[str]:
        """What stands against a start by nobody in particular."""
        found = self.desk.status(node_id=item.work_id, graph_id=self.group.group_id)["explain"]["reasons"]
        return [each["text"] for each in found]

    def refusal(self, item: Item, agent: str = ME, **fields: object) -> MetagitError:
        with pytest.raises(MetagitError) as refused:
            self.desk.start(item.work_id, agent, **fields)
        return refused.value


def scene_at(root: Path) -> Scene:
    """A Group with members and no work yet, beside an empty workspace whose agents can do what it asks for."""
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    (root / ".metagit" / "schedule").mkdir()
    return Scene(Desk(root, capabilities=frozenset({"software.python"})))
