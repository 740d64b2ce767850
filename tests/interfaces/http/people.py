"""A workspace with several Groups, a server on it, and a caller of every kind. Must not know who may do what."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from tests.groups.authority import FIRST
from tests.groups.offered import CODER, deliver, offering
from tests.interfaces.http.serving import Server, issued, revoke
from tests.scenarios import planted
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interfaces.http.calling import Caller
    from tests.unit.application.desk import Desk

Json = dict[str, Any]
# A Group that is a task graph, and one that is fed by Events; the others are those of `planted`.
OWN, OWN_FED = "mine", "group:cli"
ROLES: Final = ("viewer", "agent", "coordinator", "feeder", "operator")
# Whoever is nobody: none of these is good at this server.
STRANGERS: Final = ("nobody", "garbage", "unsigned", "revoked", "expired", "other audience", "other workspace")
# {"alg":"none"} . {"sub":"operator","role":"operator"} . and no signature
_UNSIGNED: Final = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJvcGVyYXRvciIsInJvbGUiOiJvcGVyYXRvciJ9."
ACTS_OF: Final = ("start", "report", "update", "approve", "release", "review", "retry")


class People:
    """All callers of one server, by name."""

    def __init__(self, server: Server, desk: Desk, secrets: dict[str, str | None], token_ids: dict[str, str]) -> None:
        self.server, self.desk = server, desk
        self.secrets, self.token_ids = secrets, token_ids

    def __getitem__(self, name: str) -> Caller:
        """A caller of this kind."""
        return self.server.caller(self.secrets[name])


def founded(folder: Path) -> Desk:
    """A workspace with the other Group's task graph in it."""
    root = folder / "workspace"
    root.mkdir()
    return planted.workspace(root)


def fill(desk: Desk) -> None:
    """Give every Group something to tell, and every role something to work on."""
    # What is to be started by name is the last that a claim takes: the roles come in any order.
    last = {"start": -100}
    rows = [node(f"{act}-{role}", graph_id=OWN, priority=last.get(act, 0)) for act in ACTS_OF for role in ROLES]
    desk.graph(OWN, *rows, node("free", graph_id=OWN))
    planted.feed(desk)
    deliver(desk, offering(OWN_FED).log, OWN_FED)
    planted.work_on_everything(desk)
    for name in ("key", "files", "units"):
        planted.start(desk, name)
    # Room for all roles, in whichever order they come.
    desk.put(planted.POLICY, planted.with_policy(slots=99))


def tokens(desk: Desk, other: Desk) -> tuple[dict[str, str | None], dict[str, str]]:
    """A token of every kind: secrets, and the ids of those that are good."""
    desk.set_clock(FIRST - timedelta(days=3), 0)
    old = issued(desk, "operator", "old", days=1)
    desk.set_clock(FIRST, 0)
    made = {
        "viewer": issued(desk, "viewer"),
        "agent": issued(desk, "agent", CODER),
        "coordinator": issued(desk, "coordinator", "lead-mine", group_id=OWN),
        "feeder": issued(desk, "coordinator", "lead-fed", group_id=OWN_FED),
        "operator": issued(desk, "operator", "ada"),
        "revoked": issued(desk, "operator", "eve"),
        "expired": old,
        "other audience": issued(desk, "operator", "far", audience="https://elsewhere.example.org"),
        "other workspace": issued(other, "operator", "away"),
    }
    revoke(desk, made["revoked"][1])
    none: dict[str, str | None] = {"nobody": None, "garbage": "mgt_" + 43 * "x", "unsigned": _UNSIGNED}
    return {**none, **{name: each[0] for name, each in made.items()}}, {name: each[1] for name, each in made.items()}
