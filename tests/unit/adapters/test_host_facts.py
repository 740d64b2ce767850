"""What the machine says of agent hosts: whose project it is, where programs keep their files, what starts us."""

from __future__ import annotations

import os
import pwd
import sys
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters.host_facts import host_facts
from metagit_mcp.errors import InvalidInput, WorkspaceNotFound
from metagit_mcp.ports.hosts import HostFacts

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, in which the process is; no program is on the path."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put_program(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "metagit-mcp"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_the_facts_are_those_of_this_process(home: Path) -> None:
    put_program(home / "bin")
    assert host_facts({"HOME": str(home), "PATH": f"{home}/bin"}, "/w") == HostFacts(
        project=str(home),
        home=str(home),
        config_home=f"{home}/.config",
        codex_home=f"{home}/.codex",
        is_mac=sys.platform == "darwin",
        program=("metagit-mcp",),
        workspace="/w",
    )


@pytest.mark.parametrize("name", ["XDG_CONFIG_HOME", "CODEX_HOME"])
@pytest.mark.parametrize(("given", "folder"), [("/c", "/c"), ("", ""), ("relative", "")])
def test_a_variable_names_a_folder(home: Path, name: str, given: str, folder: str) -> None:
    facts = host_facts({"HOME": str(home), name: given}, None)
    expected = {"XDG_CONFIG_HOME": f"{home}/.config", "CODEX_HOME": f"{home}/.codex"}
    if folder:
        expected[name] = folder
    assert (facts.config_home, facts.codex_home) == (expected["XDG_CONFIG_HOME"], expected["CODEX_HOME"])


@pytest.mark.parametrize("mark", [".git", ".metagit", ".metagit.yml", "no", "home"])
def test_the_project_is_the_nearest_repository_or_workspace(
    home: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    deep = home / "shop" / "src" / "deep"
    deep.mkdir(parents=True)
    if mark == ".git":
        # That of a worktree is a file.
        (home / "shop" / ".git").touch()
    elif mark != "no":
        (home / ("" if mark == "home" else "shop") / (".git" if mark == "home" else mark)).mkdir()
    monkeypatch.chdir(deep)
    expected = deep if mark in {"no", "home"} else home / "shop"
    assert host_facts({"HOME": str(home)}, None).project == str(expected)


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_a_home_that_is_no_whole_path_counts_as_none(
    home: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    """Else the file of a host would be written at the root of the machine, or wherever one happens to be."""
    monkeypatch.setenv("HOME", str(home / "never"))
    assert host_facts(environ, None).home == pwd.getpwuid(os.getuid()).pw_dir

    def unknown(_user: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(InvalidInput, match="Nothing says where this user is at home") as caught:
        host_facts(environ, None)
    assert (caught.value.hint, caught.value.details) == ("Set HOME to an absolute path.", {"field": "HOME"})


def test_a_folder_that_is_gone_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "gone").mkdir()
    monkeypatch.chdir(home / "gone")
    (home / "gone").rmdir()
    with pytest.raises(WorkspaceNotFound, match="The current folder is gone"):
        host_facts({"HOME": str(home)}, None)


def test_without_a_command_the_script_beside_the_interpreter_starts_us(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "venv" / "bin").mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", f"{home}/venv/bin/python")
    nowhere = {"HOME": str(home), "PATH": f"{home}/empty"}
    assert host_facts(nowhere, None).program == (f"{home}/venv/bin/python", "-m", "metagit_mcp")
    script = put_program(home / "venv" / "bin")
    assert host_facts(nowhere, None).program == (str(script),)
