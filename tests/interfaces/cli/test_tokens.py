"""Tokens on the command line, and the board that a person opens with one: real workspace, real server."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.interfaces.cli.main import main
from tests.interfaces.cli.fake_runs import WAIT_S, environment
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = dict[str, Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path, nodes=6, graphs=2, seed=1, worktrees=0, merges=0).root


@pytest.fixture
def run(root: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `token …` and gives its exit code, standard output and standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["token", *arguments, "--workspace", str(root)])
        out, err = capfd.readouterr()
        return code, out, err

    return run


def record(ended: tuple[int, str, str]) -> Json:
    code, out, err = ended
    assert (code, err, out.count("\n")) == (0, "", 1)
    read: Json = json.loads(out)
    return read


def test_a_token_is_issued_listed_and_revoked(run: Callable[..., tuple[int, str, str]]) -> None:
    issued = record(run("issue", "planner", "--role", "coordinator", "--group", "g1", "--operator", "ada", "--json"))
    token = issued["token"]
    assert (token["subject"], token["role"], token["group_id"], token["issued_by"], token["is_live"]) == (
        *("planner", "coordinator", "g1", "ada"),
        True,
    )
    assert [each["token_id"] for each in record(run("list", "--json"))["tokens"]] == [token["token_id"]]
    ended = record(run("revoke", token["token_id"], "--operator", "bob", "--json"))
    assert (ended["changed"], ended["token"]["revoked_by"]) == (True, "bob")
    (listed,) = record(run("list", "--json"))["tokens"]
    assert listed["is_live"] is False
    assert issued["secret"] not in run("list")[1]


def test_people_are_shown_the_secret_this_once_and_what_each_token_is_for(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    code, out, err = run("issue", "agent-1", "--role", "agent", "--days", "2", "--audience", "https://a.example")
    assert (code, err) == (0, "")
    first, second, step = out.splitlines()
    assert re.fullmatch(r"T-[0-9a-f]{12}: agent-1 as agent at https://a\.example until \S+Z", first)
    assert re.fullmatch(r"secret: mgt_[A-Za-z0-9_-]{43}", second)
    assert step.startswith("next step: Keep the secret now")
    token_id = first.partition(":")[0]
    rows = run("list")[1].splitlines()
    assert rows[1].split() == ["token", "subject", "role", "good", "issued", "by"]
    assert rows[2].split()[:4] == [token_id, "agent-1", "agent", "until"]
    assert run("revoke", token_id)[1].splitlines()[0] == f"{token_id} of agent-1 was revoked now"
    assert run("revoke", token_id)[1].splitlines()[0] == f"{token_id} of agent-1 was revoked before"
    assert run("list")[1].splitlines()[2].split()[3] == "revoked"


def test_nobody_issues_an_operators_token_by_accident(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = run("issue", "ada", "--role", "operator")
    assert (code, out) == (4, "")
    assert "Only a person may issue an operator's token: ada. [AUTH_FORBIDDEN]" in err
    assert record(run("list", "--json"))["tokens"] == []
    assert (
        record(run("issue", "ada", "--role", "operator", "--operator", "ada", "--json"))["token"]["role"] == "operator"
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("issue", "a b", "--role", "agent"), 2),
        (("issue", "agent-1"), 2),
        (("issue", "agent-1", "--role", "boss"), 2),
        (("issue", "agent-1", "--role", "agent", "--group", "g"), 2),
        (("issue", "agent-1", "--role", "agent", "--days", "0"), 2),
        (("revoke", "T-0"), 3),
    ],
)
def test_what_cannot_be_is_refused_with_its_exit_code(
    run: Callable[..., tuple[int, str, str]], arguments: tuple[str, ...], code: int
) -> None:
    ended = run(*arguments, "--json")
    assert (ended[0], ended[2]) == (code, "")
    assert set(json.loads(ended[1])) == {"code", "message", "hint", "details", "retryable"}


def asked(url: str, secret: str) -> Json:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {secret}"})  # noqa: S310 - a server of ours
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:  # noqa: S310 - as above
        read: Json = json.load(answer)
    return read


@pytest.mark.parametrize(("vouched", "role"), [((), "viewer"), (("--operator", "ada"), "operator")])
def test_the_board_is_served_with_a_token_that_ends_with_it(
    root: Path, run: Callable[..., tuple[int, str, str]], vouched: tuple[str, ...], role: str
) -> None:
    command = [sys.executable, "-m", "metagit_mcp", "board", "--no-open", *vouched, "--workspace", str(root)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) as served:
        assert served.stderr is not None
        assert served.stderr.readline() == f"The board of {root}, until Ctrl-C:\n"
        url, secret = served.stderr.readline().strip().split("/#token=")
        who = asked(f"{url}/v1/session", secret)
        assert (who["signed_in"], who["role"]) == (True, role)
        assert asked(f"{url}/v1/board", secret)["totals"]["groups"] == 2
        served.send_signal(signal.SIGINT)
        assert (served.wait(WAIT_S), served.stderr.read()) == (0, "")
    (token,) = record(run("list", "--json"))["tokens"]
    assert (token["role"], token["is_live"], token["revoked_by"] == token["subject"]) == (role, False, True)
