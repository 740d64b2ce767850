"""Another process on the same workspace: `python -m tests.unit.adapters.second ACTION ROOT ARGUMENT…`.

It must not know what a test expects: it does one thing and prints what came of it as JSON.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metagit_mcp.adapters.decision_log import DecisionLogFiles
from metagit_mcp.adapters.graph_store import GraphFileStore
from metagit_mcp.adapters.housekeeping import WorkspaceHousekeeping
from metagit_mcp.adapters.policy_file import PolicyFileStore
from metagit_mcp.adapters.workspace import init_workspace
from metagit_mcp.errors import MetagitError
from tests import ready
from tests.unit.adapters.children import REPOSITORY, SECONDS
from tests.unit.adapters.logged import decision, event
from tests.unit.adapters.reading import Reader

NOBODY = 65534


def image(root: str) -> object:
    """Read the workspace and remember our fields."""
    reader = Reader(Path(root))
    read = reader.read()
    unkept = reader.files.remember()
    return {
        "usable": [graph_id for graph_id, loaded in read.graphs.items() if loaded.graph is not None],
        "warnings": read.warnings,
        "unkept": unkept,
        "version": read.state_version,
    }


def write(root: str, what: str) -> object:
    """Write one kind of file."""
    WRITES[what](root)
    return "written"


def _graph(root: str) -> None:
    def change(record: dict[str, Any] | None) -> dict[str, Any]:
        rows = (record or {})["nodes"]
        return {**(record or {}), "title": "new", "nodes": [{**row, "risk": "external"} for row in rows]}

    GraphFileStore(root).revise("g", change)


def _policy(root: str) -> None:
    PolicyFileStore(root).revise(lambda record: {**record, "fairness_window": 7})


def _log(root: str) -> None:
    DecisionLogFiles(root).append([decision()], [event()])


WRITES: dict[str, Callable[[str], None]] = {"graph": _graph, "policy": _policy, "log": _log}


def init(root: str) -> object:
    """Make a workspace."""
    return init_workspace(root)[1]


def hindrance(root: str) -> object:
    """Say what keeps the user of this process from writing into the workspace, if anything does."""
    found = WorkspaceHousekeeping(root).hindrance()
    return None if found is None else [found.what, found.is_harm]


def kept_faults(root: str) -> object:
    """Look at kept.json as the doctor does."""
    return [each.what for each in WorkspaceHousekeeping(root).kept()]


ACTIONS: dict[str, Callable[..., object]] = {
    action.__name__: action for action in (image, write, init, hindrance, kept_faults)
}


def run_as_nobody(action: str, *arguments: str | Path) -> Any:  # noqa: ANN401 - any JSON
    """Run one action in a process of a user who owns nothing and return what it printed."""
    done = ready.run(
        [sys.executable, "-m", "tests.unit.adapters.second", action, *map(str, arguments)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def main(action: str, *arguments: str) -> None:
    """Do one thing as nobody; print what came of it, or the code and message of the error."""
    if os.geteuid() == 0:
        _rehearse(action, *arguments)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        outcome = ACTIONS[action](*arguments)
    except MetagitError as error:
        outcome = [error.code, error.message]
    json.dump(outcome, sys.stdout)


def _rehearse(action: str, root: str, *arguments: str) -> None:
    """Do it once on a copy: what is imported late may lie where nobody can read it."""
    with tempfile.TemporaryDirectory() as folder:
        ACTIONS[action](str(shutil.copytree(root, Path(folder) / "copy", symlinks=True)), *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
