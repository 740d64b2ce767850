"""A process of its own on a workspace: `python -m tests.scenarios.companion ACTION ROOT ARGUMENT…`.

It asks one use case and prints the answer, or the error's code, as JSON. With METAGIT_MCP_FAULT it is killed in the
middle of a write; as NOBODY it is a user who owns nothing. It must not know what a test expects.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metagit_mcp.bootstrap import Application, open_application
from metagit_mcp.errors import MetagitError
from metagit_mcp.settings import settings_from
from metagit_mcp.wire.answer_size import fitted
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.requests import NextRequest, PolicyRequest, StatusRequest, TaskUpdateRequest
from tests import ready
from tests.scenarios.at_once import AT_ONCE, finished

REPOSITORY = Path(__file__).resolve().parents[2]
SECONDS = 60
NOBODY = 65534
Json = dict[str, Any]


def opened(root: Path | str) -> Application:
    """The use cases over a workspace, in this process, by a person who may do everything."""
    settings = settings_from(os.environ, workspace=str(root), operator="ada")
    return open_application(settings, surface="cli", waits=AT_ONCE)


def next_of(application: Application, **fields: object) -> Json:
    """Ask what is next."""
    return fitted(finished(application.schedule.next(parse_request(NextRequest, {"limit": 100, **fields}))))


def status_of(application: Application, **fields: object) -> Json:
    """Ask how things stand."""
    return fitted(finished(application.schedule.status(parse_request(StatusRequest, fields))))


def update(application: Application, **fields: object) -> Json:
    """Change a node."""
    return fitted(finished(application.tasks.update(parse_request(TaskUpdateRequest, fields))))


def set_policy(application: Application, **fields: object) -> Json:
    """Set the policy."""
    return fitted(finished(application.policies.run(parse_request(PolicyRequest, {"action": "set", **fields}))))


def approve(application: Application, node_id: str) -> Json:
    """Approve a node."""
    _, digest = finished(application.rules.approvable(node_id, None))
    return fitted(finished(application.rules.approve(node_id, None, "ada", digest)))


def count_up(application: Application, node_id: str, times: str) -> Json:
    """Raise a node's priority one by one."""
    for number in range(int(times)):
        update(application, graph_id="g", node_id=node_id, priority=number + 1)
    return {}


ACTIONS: dict[str, Callable[..., Json]] = {
    each.__name__: each for each in (next_of, status_of, update, set_policy, approve, count_up)
}


def start(action: str, root: Path, *arguments: str, fault: str = "", nobody: bool = False) -> subprocess.Popen[str]:
    """Start the process; arguments are values by place, or `name=json`."""
    environ = {**os.environ, "METAGIT_MCP_FAULT": fault, "NOBODY": "1" if nobody else ""}
    return ready.Popen(
        [sys.executable, "-m", "tests.scenarios.companion", action, str(root), *arguments],
        cwd=REPOSITORY,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for the process, never longer than a minute."""
    with process:
        try:
            out, err = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
    return process.returncode, out, err


def answer(action: str, root: Path, *arguments: str, nobody: bool = False) -> Any:  # noqa: ANN401 - any JSON
    """What the process answers."""
    code, out, err = ended(start(action, root, *arguments, nobody=nobody))
    assert (code, err) == (0, "")
    return json.loads(out)


def asked(action: str, root: Path | str, *arguments: str) -> object:
    """What the use case answers in this process, or the code and message of its error."""
    named = dict(each.split("=", 1) for each in arguments if "=" in each)
    placed = [each for each in arguments if "=" not in each]
    fields = {name: json.loads(each) for name, each in named.items()}
    try:
        return ACTIONS[action](opened(root), *placed, **fields)
    except MetagitError as error:
        return [error.code, error.message]


def _become_nobody(action: str, root: str, *arguments: str) -> None:
    """Do it once on a copy, since what is imported late may lie where nobody can read it; then give up all rights."""
    if os.geteuid() == 0:
        with tempfile.TemporaryDirectory() as folder:
            asked(action, str(shutil.copytree(root, Path(folder) / "copy", symlinks=True)), *arguments)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


if __name__ == "__main__":
    if os.environ["NOBODY"]:
        _become_nobody(*sys.argv[1:])
    json.dump(asked(*sys.argv[1:]), sys.stdout)
