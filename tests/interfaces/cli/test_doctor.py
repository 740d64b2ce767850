"""`doctor` says one line a finding, with what mends it, and its exit code says whether anything is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.wire.codec import plain
from tests import ready
from tests.interfaces.cli.fake_application import DIAGNOSIS
from tests.interfaces.cli.fake_runs import WAIT_S, environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.interfaces.cli.conftest import Ended

    Run = Callable[..., Ended]

WELL = replace(DIAGNOSIS, checks=DIAGNOSIS.checks[:1], problems=0, fixed=0, warnings=(), next_step="Nothing to do.")


def test_each_finding_is_a_line_with_the_command_that_mends_it(run: Run) -> None:
    ended = run("doctor")
    assert (ended.code, ended.err) == (5, "")
    assert ended.out.splitlines() == [
        "fine   workspace  /shop, chosen by --workspace",
        "wrong  logs       audit: no JSON: line 2; mend it with: metagit-mcp doctor --fix",
        "note   leases     lease L-1 was not renewed",
        "fixed  leftovers  left behind: .metagit-1-ab.tmp",
        "1 wrong, 1 fixed",
        "warning: graph shop: one row is odd",
        "next step: metagit-mcp doctor --fix mends what is safe to mend; nothing else is changed.",
    ]


def test_nothing_wrong_ends_well(run: Run) -> None:
    ended = run("doctor", maintenance_doctor=WELL)
    assert ended.code == 0
    assert ended.out.splitlines()[1:] == ["nothing wrong", "next step: Nothing to do."]


@pytest.mark.parametrize(("flags", "fix"), [((), False), (("--fix",), True)])
def test_only_the_flag_mends(run: Run, flags: tuple[str, ...], *, fix: bool) -> None:
    assert run("doctor", *flags).asked == [("maintenance.doctor", ({"fix": fix},))]


def test_scripts_get_the_same_record(run: Run) -> None:
    ended = run("doctor", "--json")
    assert (ended.code, ended.record) == (5, plain(DIAGNOSIS))


def test_on_a_real_workspace_two_runs_mend_once(tmp_path: Path) -> None:
    def done(*arguments: str) -> tuple[int, str, str]:
        ended = ready.run(
            [sys.executable, "-m", "metagit_mcp", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment(),
            cwd=tmp_path,
            timeout=WAIT_S,
            check=False,
        )
        return ended.returncode, ended.stdout, ended.stderr

    assert done("init")[0] == 0
    (tmp_path / ".metagit/schedule/audit.jsonl").write_text("garbage\n")
    wrong = "wrong  logs       .metagit/schedule/audit.jsonl: no JSON: line 1; mend it with: metagit-mcp doctor --fix"
    code, out, err = done("doctor")
    assert (code, wrong in out.splitlines(), err) == (5, True, "")
    runs = [done("doctor", "--fix", "--json") for _ in range(2)]
    assert [(code, json.loads(out)["fixed"], err) for code, out, err in runs] == [(0, 1, ""), (0, 0, "")]
