"""What a hook loads: a fresh interpreter shows it for each event, since a host starts one at every call of a tool."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.interfaces.hooks.documented import HOSTS, INPUTS, SESSION, given
from tests.interfaces.hooks.fixtures import clean

if TYPE_CHECKING:
    from tests.interfaces.hooks.fixtures import Workshop

ROOT = Path(__file__).resolve().parents[3]
WORKER = {"METAGIT_WORKER_MODE": "1"}

HEAVY = {
    "click",
    "pydantic",
    "pydantic_core",
    "mcp",
    "rich",
    "networkx",
    "asyncio",
    "anyio",
    "sqlite3",
}
PROBE = """
import os, sys
sys.path.insert(0, sys.argv.pop(1))
from metagit_mcp.__main__ import main
code = main()
os.write(2, " ".join(sys.modules).encode())
sys.exit(code)
"""


def loaded_by(words: list[str], record: dict[str, Any], cwd: Path, **variables: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROBE, str(ROOT), "hook", *words],
        input=json.dumps(record).encode(),
        capture_output=True,
        timeout=60,
        check=False,
        cwd=cwd,
        env=clean(**variables),
    )
    assert done.returncode == 0
    return set(done.stderr.decode().split())


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("event", ["stamp-agent", "stop", "teammate-idle", "session-end"])
def test_what_needs_no_workspace_loads_next_to_nothing(host: str, event: str, workshop: Workshop) -> None:
    record = INPUTS.get((host, event), {})
    loaded = loaded_by([event, "--host", host], record, workshop.root, **workshop.environ)
    assert loaded & (HEAVY | {"dataclasses", "typing"}) == set()
    assert {each for each in loaded if each.startswith("metagit_mcp.")} - {"metagit_mcp.domain.text"} == {
        "metagit_mcp.__main__",
        "metagit_mcp.domain",
        "metagit_mcp.interfaces",
        "metagit_mcp.interfaces.hooks",
        *(
            f"metagit_mcp.interfaces.hooks.{name}"
            for name in ("calls", "events", "hosts", "identity", "stamp", "streams")
        ),
    }


@pytest.mark.parametrize("event", ["session-start", "stop", "teammate-idle"])
def test_where_there_is_no_workspace_little_is_loaded(event: str, tmp_path: Path) -> None:
    record = given("claude", event, cwd=str(tmp_path))
    loaded = loaded_by([event], record, tmp_path, HOME=str(tmp_path), **WORKER)
    assert loaded & HEAVY == set()
    assert "metagit_mcp.adapters.workspace" in loaded


@pytest.mark.parametrize("event", ["session-start", "stop"])
def test_where_there_is_one_with_work_and_a_ledger_pydantic_is_not_loaded(event: str, workshop: Workshop) -> None:
    workshop.desk.lease(SESSION)
    loaded = loaded_by([event], given("claude", event), workshop.root, **workshop.environ, **WORKER)
    # The ledger is a database; all else is read without what takes longest to load.
    assert loaded & HEAVY == {"sqlite3"}
    assert {"metagit_mcp.application.briefing", "metagit_mcp.domain.evolve"} <= loaded
