"""The MCPB bundle is valid, holds the package and nothing else, and its command starts the server.

Must not know: how the bundle is made.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest

from metagit_mcp import __version__
from metagit_mcp.interfaces.mcp.tools import TOOLS
from metagit_mcp.settings import DEFAULT_TOOLSETS
from tests.interfaces.mcp.raw_wire import RawServer
from tests.interop.peer import TOOLS_VENV, environment, run
from tests.packaging.conftest import ROOT, files_of

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST: dict[str, Any] = json.loads((ROOT / "packaging/mcpb/manifest.json").read_text(encoding="utf-8"))
FIRST_START_SECONDS = 120


def test_the_manifest_says_what_the_package_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {
        "name": MANIFEST["name"],
        "version": MANIFEST["version"],
        "license": MANIFEST["license"],
        "author": MANIFEST["author"]["name"],
        "python": MANIFEST["compatibility"]["runtimes"]["python"],
    }

    assert found == {
        "name": project["name"],
        "version": __version__,
        "license": project["license"],
        "author": project["authors"][0]["name"],
        "python": project["requires-python"],
    }


def test_the_manifest_lists_the_tools_of_a_server_without_flags() -> None:
    listed = [tool["name"] for tool in MANIFEST["tools"]]

    assert listed == [tool.name for tool in TOOLS if tool.toolset in DEFAULT_TOOLSETS]


def test_a_person_is_asked_for_all_that_the_command_needs() -> None:
    command = json.dumps(MANIFEST["server"]["mcp_config"])

    asked = {f"user_config.{name}" for name in MANIFEST["user_config"]}
    assert set(re.findall(r"\$\{([^}]+)\}", command)) == {"__dirname", *asked}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    run([sys.executable, ROOT / ".ci/bundle.py", folder], cwd=folder)
    return folder / f"metagit-mcp-{__version__}.mcpb"


@pytest.mark.packaging
def test_it_holds_the_package_and_nothing_else(bundle: Path) -> None:
    with ZipFile(bundle) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}

    beside = {"manifest.json", "pyproject.toml", "README.md", "LICENSE"}
    assert sorted(names) == sorted({*files_of("metagit_mcp"), *beside})


@pytest.mark.packaging
@pytest.mark.timeout(2 * FIRST_START_SECONDS)
def test_its_command_starts_the_server(bundle: Path, tmp_path: Path) -> None:
    unpacked, workspace = tmp_path / "unpacked", tmp_path / "workspace"
    (workspace / ".metagit/tasks").mkdir(parents=True)
    with ZipFile(bundle) as archive:
        archive.extractall(unpacked)
    filled = json.dumps(MANIFEST["server"]["mcp_config"])
    filled = filled.replace("${__dirname}", str(unpacked)).replace("${user_config.workspace}", str(workspace))
    config = json.loads(filled)

    env = environment([TOOLS_VENV / "bin"]) | config["env"]
    # The virtual environment of this test is not the one of the host.
    env = {name: value for name, value in env.items() if name != "VIRTUAL_ENV"}
    with RawServer([config["command"], *config["args"]], cwd=tmp_path, env=env) as server:
        shaken = server.begin("server/discover")
        found = server.answer(shaken, timeout=FIRST_START_SECONDS)["result"]
        status = server.call_tool("metagit_schedule_status")["result"]["structuredContent"]
        code = server.close()

    assert "2026-07-28" in found["supportedVersions"]
    assert os.path.realpath(status["workspace"]["path"]) == os.path.realpath(workspace)
    assert code == 0
