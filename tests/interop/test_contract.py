"""A program that knows only the OpenAPI document tries every route of a real server, as an operator and as an agent.

Must not know: how the server is built. It is started as an operator starts it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from tests.interop.http_server import served
from tests.interop.peer import environment, schemathesis
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.interop

_SECRET: Final = re.compile(r"^operator token, shown this once: (mgt_[\w-]{43})$", re.MULTILINE)
_RUN: Final = (
    *("--phases", "examples,coverage,fuzzing", "--max-examples", "15", "--seed", "7"),
    *("--request-timeout", "10", "--continue-on-failure"),
    # A stream has no end.
    *("--exclude-path", "/v1/changes"),
    # What is empty or null counts as absent (docs/reference/interfaces.md §3): more is read than the schemas promise.
    *("--exclude-checks", "negative_data_rejection"),
)
# How long a lease may be, and whether an instant has passed, is for the policy and the clock to say.
_CONFIG: Final = """
[[operations]]
include-path = ["/v1/claim", "/v1/start", "/v1/pause"]
checks.positive_data_acceptance.enabled = false
"""


@pytest.mark.parametrize("role", ["operator", "agent"])
def test_every_route_keeps_to_the_document(role: str, tmp_path: Path) -> None:
    workspace = write_workspace(tmp_path / "workspace", nodes=12, graphs=2, seed=1, worktrees=2, merges=6).root
    config, said = tmp_path / "schemathesis.toml", tmp_path / "said"
    config.write_text(_CONFIG, encoding="utf-8")
    with served(workspace, said, "--max-wait", "1") as address:
        secret = _secret(workspace, said, role)
        where = (f"{address}/v1/openapi.json", "--header", f"Authorization: Bearer {secret}")
        done = schemathesis("--config-file", str(config), "--no-color", "run", *where, *_RUN, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    counts = re.search(r"Selected: (\d+)/(\d+)\n\s+Tested: (\d+)", done.stdout)
    assert counts is not None, done.stdout
    assert counts.groups() == ("18", "19", "18")
    assert "Traceback" not in said.read_text(encoding="utf-8")


def _secret(workspace: Path, said: Path, role: str) -> str:
    """The first operator's token, or one of an agent."""
    if role == "operator":
        found = _SECRET.search(said.read_text(encoding="utf-8"))
        assert found is not None
        return found[1]
    words = ["token", "issue", "builder", "--role", role, "--operator", "ada", "--workspace", str(workspace), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "metagit_mcp", *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=environment(),
    )
    secret: str = json.loads(done.stdout)["secret"]
    return secret
