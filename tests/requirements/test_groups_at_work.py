"""Agents at work for a Group of Events: the requirements A5, A7 and D5 of docs/reference/conformance.md."""

from pathlib import Path

from tests.groups import commands
from tests.groups.authority import Authority, Item
from tests.groups.offered import CAPABLE, CODER, at_the_beginning, deliver, offering
from tests.scenarios.claiming import reasons, refused
from tests.unit.application.desk import Desk

G = "group:cli"
ANALYST = "agent://acme/analyst"


class Told:
    """A workspace to which the log of a Group with one WorkItem is delivered, which is offered to two agents."""

    def __init__(self, root: Path) -> None:
        (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
        self.desk = at_the_beginning(Desk(root))
        self.group: Authority = offering(G)
        (self.item,) = self.group.items.values()
        self.tell()

    def tell(self) -> None:
        deliver(self.desk, self.group.log)

    def claim(self, agent_id: str = CODER, **fields: object) -> list[str]:
        """The leases that a claim gives."""
        answer = self.desk.claim(agent_id, capabilities=CAPABLE, **fields)
        return [each["lease"]["lease_id"] for each in answer["decisions"]]

    def work(self) -> tuple[str, str | None, int, str | None]:
        """State, owner and epoch of the WorkItem here, and its lease."""
        self.desk.status()
        found = self.desk.application.current.state.items[G][self.item.work_id]
        return found.state, found.owner, found.ownership_epoch, found.lease_id

    def asked(self) -> list[tuple[str, int, int]]:
        """What the Group is asked for: Command, Ownership Epoch, Session Epoch."""
        self.desk.status()
        proposals = self.desk.application.current.state.feeds[G].outbox.values()
        return [
            (each.command, each.ownership_epoch, each.session_epoch)
            for each in proposals
            if each.command != "schedule.estimate"
        ]


def taken_by(group: Authority, item: Item, agent_id: str) -> None:
    commands.accept(group, (item, agent_id))
    commands.start(group, item)


def test_what_the_groups_log_says_counts_whatever_was_begun_here(tmp_path: Path) -> None:
    """Claims A5."""
    told = Told(tmp_path / "w")
    (lease_id,) = told.claim()
    assert told.work() == ("active", CODER, 1, lease_id)
    # Until the log says so, it is only asked for.
    assert told.asked() == [("work.accept_offer", 1, 1), ("work.start", 1, 1)]
    taken_by(told.group, told.item, ANALYST)
    told.tell()
    assert (told.work(), told.asked()) == (("open", None, 1, None), [])
    assert refused(lambda: told.desk.report(lease_id, "completed")) == "WORK_STALE_OWNERSHIP"
    commands.cancel_mission(told.group, told.item.mission)
    told.tell()
    assert told.work() == ("cancelled", None, 2, None)
    assert told.claim() == told.claim(ANALYST) == []


def test_a_mission_that_ends_takes_its_work_from_whoever_is_at_it(tmp_path: Path) -> None:
    """Claims A5."""
    told = Told(tmp_path / "w")
    (lease_id,) = told.claim()
    taken_by(told.group, told.item, CODER)
    told.tell()
    assert told.work() == ("active", CODER, 1, lease_id)
    commands.cancel_mission(told.group, told.item.mission)
    told.tell()
    assert told.work() == ("cancelled", None, 2, None)
    assert refused(lambda: told.desk.report(lease_id, "running")) == "WORK_STALE_OWNERSHIP"


def test_a_new_session_of_an_agent_ends_what_the_former_did_for_a_group(tmp_path: Path) -> None:
    """Claims A7."""
    told = Told(tmp_path / "w")
    (first,) = told.claim()
    taken_by(told.group, told.item, CODER)
    told.tell()
    (second,) = told.claim(new_session=True)
    assert (told.work(), first != second) == (("active", CODER, 1, second), True)
    assert refused(lambda: told.desk.report(first, "completed")) == "AUTH_STALE_SESSION"
    told.desk.report(second, "completed")
    assert told.asked()[-1] == ("work.submit", 1, 2)


def test_what_an_agent_runs_elsewhere_it_does_not_run_here_too(tmp_path: Path) -> None:
    """Claims A7."""
    told = Told(tmp_path / "w")
    taken_by(told.group, told.item, CODER)
    told.tell()
    assert told.claim() == told.claim(ANALYST) == []
    assert reasons(told.desk, told.item.work_id)[0].startswith(f"leased(by {CODER}, until ")
    assert told.asked() == []


def test_an_offer_that_ran_out_is_accepted_by_nobody(tmp_path: Path) -> None:
    """Claims D5."""
    told = Told(tmp_path / "w")
    told.desk.wait(600)
    assert told.claim() == []
    assert reasons(told.desk, told.item.work_id)[0].startswith("not_offered")
    assert refused(lambda: told.desk.start(told.item.work_id, CODER)) == "NODE_NOT_ELIGIBLE"
    assert told.asked() == []
    told.group.wait(600)
    commands.offer(told.group, told.item, CODER)
    told.tell()
    assert len(told.claim()) == 1
