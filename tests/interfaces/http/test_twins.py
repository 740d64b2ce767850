"""What is answered over HTTP is what the command answers, field for field, in two real processes on the same workspace.

The calls are those with which tool and command are compared (`tests/interfaces/test_parity.py`); it must not know what
an answer holds.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import pytest

from tests import ready
from tests.interfaces.cli.fake_runs import ROOT, WAIT_S, environment
from tests.interfaces.http.serving import Server
from tests.interfaces.test_parity import LEASE, LEASED, PROGRAM, SAME, TWINS, Twin, command_answer, fresh, text, twin
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interfaces.http.calling import Answer, Caller

Json = dict[str, Any]
_ROUTED: Final = frozenset({"schedule_next", "schedule_status", "work_start", "work_report"})
# There is no preview of a claim to ask for: what GET takes is no claim, and POST is one.
_CALLS: Final = [
    call
    for call in TWINS
    if call.tool.removeprefix("metagit_") in _ROUTED and not {"claim", "preview"} <= call.arguments.keys()
]


@pytest.fixture(scope="module")
def secret_of(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A workspace with a lease and a token on it, and the secret of the token."""
    root = write_workspace(
        tmp_path_factory.mktemp("original"), nodes=40, graphs=4, seed=7, worktrees=3, merges=6, decisions=5
    ).root
    _, answer = command_answer(twin("work_start", {}, f"work start {LEASED}"), root, METAGIT_MCP_IDS="earlier")
    assert answer["lease"]["lease_id"] == LEASE
    # Whoever calls has the name that the command line has.
    words = [
        "token",
        "issue",
        SAME["CLAUDE_CODE_SESSION_ID"],
        "--role",
        "operator",
        "--operator",
        "ada",
        "--workspace",
        str(root),
        "--json",
    ]
    done = ready.run(
        [*PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(**SAME),
        cwd=ROOT,
        timeout=WAIT_S,
        check=True,
    )
    secret: str = json.loads(done.stdout)["secret"]
    return root, secret


def _asked(caller: Caller, call: Twin) -> Answer:
    """Ask over HTTP what a tool is asked."""
    name = call.tool.removeprefix("metagit_")
    if name == "schedule_next" and call.arguments.get("claim"):
        return caller.post("/v1/claim", call.arguments)
    if name in {"work_start", "work_report"}:
        return caller.post(f"/v1/{name.removeprefix('work_')}", call.arguments)
    query = {key: str(each).lower() if isinstance(each, bool) else text(each) for key, each in call.arguments.items()}
    return caller.get(f"/v1/{name.removeprefix('schedule_')}?{urlencode(query)}")


@pytest.mark.parametrize("call", _CALLS, ids=str)
def test_a_route_answers_what_its_command_prints(call: Twin, secret_of: tuple[Path, str], tmp_path: Path) -> None:
    (original, secret), place = secret_of, tmp_path / "workspace"
    fresh(original, place)
    with Server(place, clock=None, **SAME) as server:
        answer = _asked(server.caller(secret), call)
    fresh(original, place)
    refused, by_command = command_answer(call, place)

    assert (answer.json, answer.status >= 400) == (by_command, call.refused)
    assert refused is call.refused


def test_every_route_of_an_orchestrator_is_compared() -> None:
    assert {call.tool.removeprefix("metagit_") for call in _CALLS} == _ROUTED
    assert len(_CALLS) > 20
