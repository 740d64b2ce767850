"""The MCP Inspector's command line speaks with the server over HTTP in both protocol eras, and its lint finds nothing.

Must not know: how the server is built. It is started as an operator starts it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.http_server import served
from tests.interop.peer import inspect
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.inspector

ERAS = ("legacy", "modern")
TOOLS = [
    "metagit_schedule_next",
    "metagit_schedule_status",
    "metagit_schedule_policy",
    "metagit_work_start",
    "metagit_work_report",
    "metagit_task_plan",
    "metagit_task_update",
    "metagit_group_deliver",
    "metagit_group_estimate",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("inspected")
    workspace = write_workspace(folder / "workspace", nodes=12, graphs=2, seed=1, worktrees=2, merges=6).root
    with served(workspace, folder / "said", "--no-token") as address:
        yield f"{address}/mcp"


def inspected(server: str, era: str, *arguments: str, cwd: Path) -> dict[str, Any]:
    """The result the Inspector printed."""
    how = ("--transport", "http", "--format", "json", "--protocol-era", era)
    done = inspect(server, *how, *arguments, cwd=cwd)
    assert done.returncode == 0, (done.stdout, done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)["result"]
    return result


@pytest.mark.parametrize("era", ERAS)
def test_every_schema_of_every_toolset_is_portable(server: str, era: str, tmp_path: Path) -> None:
    result = inspected(server, era, "--method", "tools/list", "--strict", cwd=tmp_path)

    assert [tool["name"] for tool in result["tools"]] == TOOLS


@pytest.mark.parametrize("era", ERAS)
def test_a_viewer_reads_the_status(server: str, era: str, tmp_path: Path) -> None:
    call = ("--method", "tools/call", "--tool-name", "metagit_schedule_status", "--tool-args-json", "{}")
    result = inspected(server, era, *call, cwd=tmp_path)

    assert result["structuredContent"]["counts"]["nodes"] == 12
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
