"""Breaks the code behind some requirements, one line at a time, and sees whether the claiming tests notice.

`python -m tests.requirements.prove` works in a copy, prints a table and ends with 1 if a broken line went unnoticed. It
must not know why a line matters: that is what the tests say.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.requirements.page import PAGE, ROOT, requirements

_COPIED = ("metagit_mcp", "tests")
_SECONDS = 120
_FAILED = 1  # what pytest ends with when a test failed; other codes mean that it could not run


@dataclass(frozen=True)
class Break:
    """One line of the package, and what stands there instead."""

    name: str
    path: str
    line: str
    instead: str


BREAKS = (
    Break("A5", "domain/feeding.py", "if stands(feed, item, fed):", "if True:"),
    Break("D5", "scheduling/eligibility.py", "closed = _not_offered(rules, node)", "closed = None"),
    Break(
        "H1",
        "domain/lapses.py",
        "expired = sorted(lease_id for lease_id, lease in state.leases.items() if has_passed(lease.expiry, now, last))",
        "expired: list[str] = []",
    ),
    Break("H2", "domain/verdict.py", 'if closed.closure == "expired":', 'if closed.closure == "submitted":'),
    Break(
        "H3",
        "domain/reporting.py",
        "return Decided(events=(kept,), refusal=refusal)",
        "return Decided(refusal=refusal)",
    ),
    Break(
        "H5",
        "domain/reporting.py",
        "stopped = (*events, *self._closure(), self._stopped())",
        "stopped = (*self._closure(), self._stopped())",
    ),
    Break(
        "I1",
        "application/turns/disclosure.py",
        "if told is not None and is_material(feed.told.get(item.node_id), told):",
        "if told is not None and feed.told.get(item.node_id) is None:",
    ),
    Break("I2", "application/groups/standing.py", "if alone:", "if not order:"),
    Break(
        "I6",
        "application/schedule.py",
        "rows = [changed(made, skipped=bool(made.skipped), state_version=version, lease=None) for made in decisions]",
        "rows = [changed(made, skipped=bool(made.skipped), state_version=version) for made in decisions]",
    ),
    Break(
        "I7",
        "application/groups/groups.py",
        "raise no_such_group(group_id)",
        "raise no_such_group(max(state.items, default=group_id))",
    ),
    Break(
        "A10",
        "application/groups/deliveries.py",
        "other = next((event for event in events if event.group_id != group_id), None)",
        "other = None",
    ),
    Break("B6", "domain/reporting.py", "stopped = (*events, *self._closure(), self._stopped())", "stopped = ()"),
    Break(
        "B8",
        "scheduling/situation.py",
        "for missing in sorted(name for name in demand.capabilities - asker.capabilities if not meets(asker, name)):",
        "for missing in sorted(name for name in demand.capabilities - demand.capabilities if not meets(asker, name)):",
    ),
    Break(
        "C1",
        "scheduling/fairness.py",
        "policy.deadline_window * LCM,",
        "policy.deadline_window * LCM * LCM,",
    ),
    Break(
        "C2",
        "scheduling/levels.py",
        "tag = self.flows.tag(charged) + cost * LCM // weight",
        "tag = self.flows.tag(charged) + cost * LCM",
    ),
    Break(
        "C5",
        "scheduling/ages.py",
        "return 0 < limit <= count and (before is None or count - before >= limit)",
        "return False",
    ),
    Break("D6", "domain/admission.py", "_refuse_taken(item, command)", "pass"),
    Break(
        "D7",
        "domain/admission.py",
        "epoch = _epoch(item, command.agent_id)",
        "epoch = 1",
    ),
    Break("D8", "domain/admission.py", "if queued >= policy.queue_capacity:", "if queued > policy.queue_capacity:"),
    Break(
        "E1",
        "domain/reporting.py",
        "return Decided(events=(kept,), refusal=refusal)",
        "return Decided(events=(kept,))",
    ),
    Break(
        "E2",
        "domain/admission.py",
        "opened = _opened(command, policy, now, epoch=before.epoch + 1)",
        "opened = _opened(command, policy, now, epoch=before.epoch)",
    ),
    Break(
        "E4",
        "domain/moves.py",
        "lease = state.leases.pop(lease_id)",
        "lease = state.leases[lease_id]",
    ),
    Break(
        "E7",
        "domain/admission.py",
        "return Decided(events=(opened, *_returned(state, command.agent_id, opened.epoch, policy, now)))",
        "return Decided(events=(opened,))",
    ),
    Break(
        "F3",
        "domain/admission.py",
        "resumed_from=None if checkpoint is None else checkpoint.checkpoint_id,",
        "resumed_from=None,",
    ),
    Break(
        "F2",
        "application/work/leases.py",
        "preempt_requested=lease.lease_id in state.shares.preemptions or None,",
        "preempt_requested=None,",
    ),
    Break("G2", "domain/reporting.py", "note=self._note(),", "note=self._command.note,"),
    Break(
        "G6",
        "domain/reporting.py",
        "if failures >= self._policy.retries.max_attempts:",
        "if failures > self._policy.retries.max_attempts:",
    ),
    Break(
        "G10",
        "domain/evolve.py",
        'item = closed_with(state, known(state, event.graph_id, event.node_id, event.at), "finished", event.at)',
        "item = known(state, event.graph_id, event.node_id, event.at)",
    ),
    Break("J2", "domain/side_effects.py", '"ownershipEpoch": ownership_epoch,', '"ownershipEpoch": 1,'),
    Break(
        "K1",
        "application/groups/deliveries.py",
        "known = {entry.sequence: entry for entry in inbox.known(entries)}",
        "known: dict[int, InboxEntry] = {}",
    ),
    Break(
        "K4",
        "application/groups/deliveries.py",
        "while (event := fresh.get(at + 1)) is not None:",
        "while (event := next((fresh[each] for each in sorted(fresh) if each > at), None)) is not None:",
    ),
)


def broken(text: str, line: str, instead: str) -> tuple[str, int]:
    """The text with one line replaced, its indent kept, and the number of that line.

    Raises:
        ValueError: the line is not there, or several times.
    """
    lines = text.splitlines(keepends=True)
    found = [number for number, each in enumerate(lines) if each.strip() == line]
    if len(found) != 1:
        raise ValueError(f"{len(found)} lines read: {line}")
    (number,) = found
    lines[number] = lines[number].replace(line, instead)
    return "".join(lines), number + 1


def run(copy: Path, tests: tuple[str, ...]) -> int:
    """What pytest ends with when it runs these tests on the copy."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider"]
    named = [f"tests/requirements/{each}" for each in tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, *named], cwd=copy, env=environment, capture_output=True, timeout=_SECONDS, check=False
    )
    return done.returncode


def proofs() -> Iterator[tuple[str, str, str, bool]]:
    """Each break with its place, the tests that claim the id, and whether they noticed it."""
    claiming = {row.name: row.tests for row in requirements(PAGE.read_text(encoding="utf-8"))}
    with tempfile.TemporaryDirectory(prefix="metagit-prove-") as folder:
        copy = Path(folder)
        for name in _COPIED:
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        if run(copy, tuple(test for each in BREAKS for test in claiming[each.name])) != 0:
            raise SystemExit("the tests fail before anything is broken")
        for each in BREAKS:
            path, tests = copy / "metagit_mcp" / each.path, claiming[each.name]
            whole = path.read_text(encoding="utf-8")
            text, number = broken(whole, each.line, each.instead)
            path.write_text(text, encoding="utf-8")
            noticed = run(copy, tests) == _FAILED
            path.write_text(whole, encoding="utf-8")
            yield each.name, f"{each.path}:{number}", ", ".join(tests), noticed


def main() -> int:
    """Print what was noticed; return 1 if something was not."""
    unnoticed = 0
    for name, place, tests, noticed in proofs():
        unnoticed += not noticed
        print(f"{name:<4} {'noticed' if noticed else 'UNNOTICED':<10} {place:<32} {tests}", flush=True)  # noqa: T201 - a script
    print(f"{len(BREAKS) - unnoticed} of {len(BREAKS)} broken lines were noticed.")  # noqa: T201 - a script
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
