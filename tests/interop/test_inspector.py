"""The MCP Inspector's command line drives the server in both protocol eras and finds its schemas portable.

Must not know: how the server is built. It is started as a host starts it.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.peer import inspect
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.inspector

ERAS = ("legacy", "modern")
SERVER = (sys.executable, "-m", "metagit_mcp", "serve")
TOOL_FAILED = 5


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write_workspace(tmp_path, nodes=12, graphs=2, seed=1, worktrees=2, merges=6).root


def inspected(workspace: Path, era: str, *arguments: str, code: int = 0) -> dict[str, Any]:
    """The result the Inspector printed; it must end with `code`."""
    server = (*SERVER, "--workspace", str(workspace))
    done = inspect(*server, "--format", "json", "--protocol-era", era, *arguments, cwd=workspace)
    assert done.returncode == code, (done.stdout, done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)["result"]
    return result


@pytest.mark.parametrize("era", ERAS)
def test_every_schema_is_portable(workspace: Path, era: str) -> None:
    result = inspected(workspace, era, "--method", "tools/list", "--strict")

    names = [tool["name"] for tool in result["tools"]]
    assert {"metagit_schedule_next", "metagit_schedule_policy", "metagit_schedule_status"} <= set(names)


@pytest.mark.parametrize("era", ERAS)
def test_next_answers_with_a_decision(workspace: Path, era: str) -> None:
    arguments = json.dumps({"limit": 2, "preview": True})
    call = ("--method", "tools/call", "--tool-name", "metagit_schedule_next", "--tool-args-json", arguments)
    result = inspected(workspace, era, *call)

    assert len(result["structuredContent"]["decisions"]) == 2
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


@pytest.mark.parametrize("era", ERAS)
def test_a_refused_call_is_an_error_of_the_tool(workspace: Path, era: str) -> None:
    call = ("--method", "tools/call", "--tool-name", "metagit_schedule_next", "--tool-args-json", '{"limit": 0}')
    result = inspected(workspace, era, *call, code=TOOL_FAILED)

    assert result["isError"]
    assert json.loads(result["content"][0]["text"])["code"] == "INVALID_INPUT"
