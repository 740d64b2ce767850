"""What tests of whole turns share: a folder to work in, what the ledger says became of it, and a model that works.

Must not know: which client is asked, nor how a hook words its text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from tests.scenarios.claiming import told_by
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.hosts.fake_model import Got, Reply, Use

LEASE = re.compile(r"\bL-[A-Z2-7]{12}\b")


class Heard(Protocol):
    """What a model is told with a request."""

    @property
    def results(self) -> list[Got]: ...

    @property
    def used(self) -> list[Use]: ...


def folder_of_workspace(tmp_path: Path) -> Path:
    """A folder inside a new workspace with three nodes that are ready."""
    folder = write_workspace(tmp_path / "workspace", nodes=3, graphs=1).root / "web/src"
    folder.mkdir(parents=True)
    return folder


def leases(folder: Path) -> list[tuple[str, str, str]]:
    """Who began what under which lease, in order: agent, node, lease."""
    started = [event["lease"] for event in told_by(ledger(folder), "work_started")]
    return [(lease["agent_id"], lease["node_id"], lease["lease_id"]) for lease in started]


def ended(folder: Path, kind: str) -> list[str]:
    """The leases that ended in one way, in order."""
    return [event["lease_id"] for event in told_by(ledger(folder), kind)]


def ledger(folder: Path) -> Path:
    """The ledger of the workspace; it may not be there yet."""
    return folder.parents[1] / ".metagit/schedule/ledger.db"


def work(heard: Heard, told: int, claim: Use, completed: Callable[[str], Use]) -> Reply:
    """Claim at the start and once more for each time it was `told` of a next node; complete what was given."""
    given = dict.fromkeys(lease for got in heard.results for lease in LEASE.findall(got.text))
    reported = [use.arguments["lease_id"] for use in heard.used if "lease_id" in use.arguments]
    if left := [lease for lease in given if lease not in reported]:
        return completed(left[0])
    claims = [use for use in heard.used if use.name == claim.name]
    return claim if len(claims) <= told else "done"
