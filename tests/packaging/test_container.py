"""The Dockerfile builds what it says, and what it starts runs: no engine is needed, since its commands are run here.

Must not know: how the package is built.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.interop.http_server import free_port, started
from tests.interop.peer import environment, run, tool
from tests.packaging.conftest import ROOT
from tests.packaging.dockerfile import stages

if TYPE_CHECKING:
    from pathlib import Path

DOCKERFILE = ROOT / "packaging/Dockerfile"
BUILD, FINAL = stages(DOCKERFILE)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INSTALL = re.compile(r"/opt/metagit-mcp/bin/pip install --no-cache-dir --compile \"\.\[(?P<extras>[a-z,]+)\]\"")


def test_both_stages_have_one_python_that_the_package_takes() -> None:
    assert BUILD.base == FINAL.base == "python:3.13-slim"
    assert 'requires-python = ">=3.11,<3.14"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_what_is_built_from_is_there_and_is_sent_to_the_builder() -> None:
    copied = [name for line in BUILD.all("COPY") for name in line.split()[:-1]]
    sent = (ROOT / "packaging/Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()

    assert copied == [line.removeprefix("!") for line in sent if line.startswith("!")]
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_its_extras_are_those_of_the_package() -> None:
    match = INSTALL.search(BUILD.one("RUN"))
    assert match is not None
    assert set(match["extras"].split(",")) <= set(PROJECT["optional-dependencies"])


def test_what_was_built_is_what_runs_and_nobody_is_root() -> None:
    assert FINAL.all("COPY") == ["--from=build /opt/metagit-mcp /opt/metagit-mcp"]
    assert FINAL.one("USER") == "10001:10001"
    assert FINAL.command("ENTRYPOINT") == [next(iter(PROJECT["scripts"]))]
    assert FINAL.all("RUN") == []


def test_it_listens_where_it_says_and_answers_the_health_check() -> None:
    port, command = FINAL.one("EXPOSE"), FINAL.command("CMD")

    assert command[:3] == ["serve", "--http", f"0.0.0.0:{port}"]
    assert f"127.0.0.1:{port}" in command[3:]
    assert f"http://127.0.0.1:{port}/healthz" in " ".join(FINAL.command("HEALTHCHECK"))


@pytest.mark.packaging
def test_the_linter_finds_nothing() -> None:
    run([tool("hadolint"), "--no-color", "--failure-threshold", "style", DOCKERFILE], cwd=ROOT)


@pytest.mark.packaging
@pytest.mark.timeout(300)
def test_its_commands_run(tmp_path: Path) -> None:
    source, opt = tmp_path / "src", tmp_path / "opt"
    source.mkdir()
    for name in (name for line in BUILD.all("COPY") for name in line.split()[:-1]):
        part = ROOT / name
        shutil.copytree(part, source / name) if part.is_dir() else shutil.copy(part, source)
    run([tool("uv"), "venv", "--quiet", opt], cwd=source)
    extras = INSTALL.search(BUILD.one("RUN"))
    assert extras is not None
    wanted = f".[{extras['extras']}]"
    # uv instead of pip, for speed: what is installed is the same.
    run([tool("uv"), "pip", "install", "--quiet", "--python", opt, wanted], cwd=source, seconds=240)
    (tmp_path / "workspace/.metagit/tasks").mkdir(parents=True)
    port = str(free_port())
    program, *rest = [word.replace("8765", port) for word in FINAL.command("ENTRYPOINT") + FINAL.command("CMD")]
    check, *words = [word.replace("8765", port) for word in FINAL.command("HEALTHCHECK")]

    workspace = {"METAGIT_WORKSPACE": str(tmp_path / "workspace")}
    with started([str(opt / "bin" / program), *rest], f"127.0.0.1:{port}", tmp_path / "said", **workspace):
        healthy = subprocess.run([opt / "bin" / check, *words], env=environment(), timeout=20, check=False)

    assert healthy.returncode == 0
