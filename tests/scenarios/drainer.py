"""One agent on the command line that takes all it can get: `python -m tests.scenarios.drainer ROOT AGENT LIMIT`.

It says "ready", waits for one line, and then runs one command after the other in this process, which spares their
start-up and makes a race of it: a claim of up to LIMIT nodes, and a report for the first of them. It prints what it got
as a JSON list, and must not know who else takes work.
"""

import contextlib
import io
import json
import sys
from typing import Any

from metagit_mcp.interfaces.cli.exits import NOTHING_RUNNABLE, PERSON_NEEDED
from metagit_mcp.interfaces.cli.main import main

Json = dict[str, Any]


def told(root: str, *words: str) -> Json:
    """Run one command; return the record that it prints. Only where there is nothing to do more is said."""
    raw, said = io.BytesIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(io.TextIOWrapper(raw, encoding="utf-8")) as printed,
        contextlib.redirect_stderr(said),
    ):
        code = main([*words, "--workspace", root, "--json"])
        printed.flush()
        record: Json = json.loads(raw.getvalue())
    assert bool(said.getvalue()) == (code in {NOTHING_RUNNABLE, PERSON_NEEDED}), said.getvalue()
    return record


def drain(root: str, agent_id: str, limit: str) -> list[list[str]]:
    """Take nodes until there are none; return the names of all, with the state in which each was left."""
    got: list[list[str]] = []
    while True:
        claim = ("schedule", "next", "--claim", "--agent-id", agent_id, "--limit", limit)
        answer = told(root, *claim)
        assert "decisions" in answer, answer
        decisions = answer["decisions"]
        if not decisions:
            return got
        names = [f"{each['graph_id']}/{each['node_id']}" for each in decisions]
        report = told(root, "work", "report", decisions[0]["lease"]["lease_id"], "--state", "completed")
        got += [[names[0], report["node_status"]], *([name, "active"] for name in names[1:])]


if __name__ == "__main__":
    # What is imported late is imported now.
    told(sys.argv[1], "schedule", "status")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    json.dump(drain(*sys.argv[1:]), sys.stdout)
