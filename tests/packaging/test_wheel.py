"""The wheel installs and runs with pipx and with uvx, and has all that the program reads at run time.

Must not know: the source tree. Only what stands in the wheel is run.
"""

from __future__ import annotations

import json
import tarfile
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from metagit_mcp import __version__
from tests.interfaces.mcp.raw_wire import ERAS, RawServer
from tests.interop.http_server import served
from tests.interop.peer import TOOLS_VENV, environment, run, tool
from tests.packaging.conftest import ROOT, files_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(300)]

INSTALL_SECONDS = 240
VERSION_LINE = f"metagit-mcp {__version__}\n"


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The program, installed by pipx into an environment of its own."""
    home = tmp_path_factory.mktemp("pipx")
    with pytest.MonkeyPatch.context() as patch:
        for name, folder in {"PIPX_HOME": "home", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man"}.items():
            patch.setenv(name, str(home / folder))
        run([tool("pipx"), "install", wheel], cwd=home, seconds=INSTALL_SECONDS, path=[TOOLS_VENV / "bin"])
        yield home / "bin/metagit-mcp"


@pytest.fixture(scope="module")
def workspace(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that the installed program made, with a ledger."""
    folder = tmp_path_factory.mktemp("installed")
    run([program, "init"], cwd=folder)
    run([program, "task", "plan", "--title", "Shop", "--nodes", '[{"title": "Fix the footer"}]'], cwd=folder)
    claimed = json.loads(run([program, "schedule", "next", "--claim", "--agent-id", "a", "--json"], cwd=folder))
    assert [each["node_id"] for each in claimed["decisions"]] == ["fix-the-footer"]
    return folder


def test_pipx_installs_it(program: Path, tmp_path: Path) -> None:
    assert run([program, "--version"], cwd=tmp_path) == VERSION_LINE


def test_pipx_runs_it_without_installing(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPX_HOME", str(tmp_path))
    command: list[str | Path] = [tool("pipx"), "run", "--spec", wheel, "metagit-mcp", "--version"]

    assert run(command, cwd=tmp_path, seconds=INSTALL_SECONDS, path=[TOOLS_VENV / "bin"]) == VERSION_LINE


def test_uvx_runs_it_as_a_host_does(wheel: Path, workspace: Path) -> None:
    command: list[str | Path] = [tool("uvx"), "--from", wheel, "metagit-mcp", "serve", "--workspace", workspace]
    with RawServer(command, cwd=workspace, env=environment()) as server:
        # It installs first.
        found = server.answer(server.begin("server/discover"), timeout=INSTALL_SECONDS)["result"]

        assert "2026-07-28" in found["supportedVersions"]


@pytest.mark.parametrize("era", ERAS)
def test_it_serves_agents(program: Path, workspace: Path, era: str) -> None:
    with RawServer([program, "serve"], cwd=workspace, env=environment()) as server:
        server.enter(era)
        listed = server.request("tools/list")["result"]["tools"]
        status = server.call_tool("metagit_schedule_status")["result"]["structuredContent"]

        assert len(listed) == 5
        assert [each["node_id"] for each in status["running"]] == ["fix-the-footer"]
        assert server.close() == 0


def test_it_names_itself_to_hosts_of_both_eras(program: Path, workspace: Path) -> None:
    with RawServer([program, "serve"], cwd=workspace, env=environment()) as server:
        found = server.request("server/discover")["result"]
        shaken = server.initialize()

    assert "2026-07-28" in found["supportedVersions"]
    assert shaken["serverInfo"]["version"] == __version__


def test_the_board_is_in_it(program: Path, workspace: Path, tmp_path: Path) -> None:
    from urllib.request import urlopen  # noqa: PLC0415 - httpx is not among the dependencies of the tests

    with (
        served(workspace, tmp_path / "said", "--no-token", program=(str(program),)) as address,
        urlopen(address, timeout=20) as answer,  # noqa: S310 - our own server on this machine
    ):
        page = answer.read().decode()
        policy = answer.headers["Content-Security-Policy"]

    assert page.startswith("<!doctype html>")
    assert "default-src 'none'" in policy


def test_its_schemas_are_those_of_the_repository(program: Path, tmp_path: Path) -> None:
    run([program, "schemas", "export", "written"], cwd=tmp_path)

    written, kept = _texts(tmp_path / "written"), _texts(ROOT / "schemas")
    assert sorted(written) == sorted(kept)
    assert [name for name in kept if written[name] != kept[name]] == []


def _texts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.json")}


def test_it_has_every_file_of_the_package_and_nothing_else(wheel: Path, source: Path) -> None:
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert names == set(files_of("metagit_mcp", source))


def test_the_source_distribution_can_be_worked_on(distributions: Path, source: Path) -> None:
    (packed,) = distributions.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    others = {"pyproject.toml", "README.md", "LICENSE", "Makefile", "server.json", "packaging/Dockerfile", ".ci/run"}
    folders = ("metagit_mcp", "tests", "plugins", ".claude-plugin", ".cursor-plugin")
    files = {name for folder in folders for name in files_of(folder, source)}
    assert sorted({*files, *others} - names) == []
