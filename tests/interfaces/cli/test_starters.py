"""`serve` and `demo` hand over to other parts, which they load only then."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interfaces.cli.conftest import Ended

    Run = Callable[..., Ended]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings of each server that would have been started."""
    settings: list[Settings] = []
    monkeypatch.setattr("metagit_mcp.interfaces.mcp.serve.run", settings.append)
    return settings


def test_serve_starts_the_server_with_its_flags(run: Run, started: list[Settings]) -> None:
    line = "serve --workspace /w --agent-id agent-1 --capabilities gpu,db --toolsets tasks --operator ada --max-wait 9"
    ended = run(*line.split(), "--policy-read-only")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert started == [
        Settings(
            workspace="/w",
            agent_id="agent-1",
            capabilities=frozenset({"gpu", "db"}),
            toolsets=frozenset({"tasks"}),
            operator="ada",
            max_wait_seconds=9,
            policy_read_only=True,
        )
    ]


@pytest.mark.parametrize("flag", ["--agent-id", "--operator"])
def test_over_http_a_token_says_who_calls_and_no_flag(run: Run, started: list[Settings], flag: str) -> None:
    ended = run("serve", "--http", "127.0.0.1:0", flag, "ada")
    assert (ended.code, ended.out, started) == (2, "", [])
    assert f"{flag} is not for --http" in ended.err


@pytest.mark.parametrize("seconds", ["-1", "301", "x", ""])
def test_serve_refuses_a_wait_that_hosts_would_not_bear(run: Run, started: list[Settings], seconds: str) -> None:
    ended = run("serve", "--max-wait", seconds)
    assert (ended.code, ended.out, started) == (2, "", [])
    assert "max-wait" in ended.err


def test_serve_without_flags_leaves_all_to_the_environment(
    run: Run, started: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METAGIT_WORKSPACE", "/from/environment")
    assert run("serve").code == 0
    assert started == [Settings(workspace="/from/environment", workspace_from="METAGIT_WORKSPACE")]


def test_serve_keeps_standard_output_for_the_protocol(run: Run, started: list[Settings]) -> None:
    ended = run("serve", "--toolsets", "taks")
    assert (ended.code, ended.out, started) == (2, "", [])
    assert "[INVALID_INPUT]" in ended.err


@pytest.mark.parametrize("code", [0, 1])
def test_the_demo_ends_as_it_says(run: Run, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    module = ModuleType("metagit_mcp.interfaces.demo")
    monkeypatch.setattr(module, "main", lambda: code, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert run("demo").code == code


def test_init_refuses_what_is_no_path(run: Run) -> None:
    for path in ("", "a\0b"):
        ended = run("init", path, "--json")
        assert (ended.code, ended.record["code"]) == (2, "INVALID_INPUT")
