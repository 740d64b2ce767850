"""How a real run ends: exit codes, what stands on which stream, interrupts, and output that nobody takes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from metagit_mcp.wire.answer_size import fitted
from metagit_mcp.wire.codec import compact
from tests.interfaces.cli.fake_application import SAMPLES
from tests.interfaces.cli.fake_runs import ROOT, WAIT_S, command, ended, environment

NEXT = ("schedule", "next")
LINE = compact(fitted(SAMPLES["schedule.next"])).decode() + "\n"


def test_the_answer_is_all_there_is_on_standard_output() -> None:
    assert ended("plain", *NEXT, "--json") == (0, LINE, "")


def test_a_refusal_for_a_script_is_one_line_on_standard_output() -> None:
    code, out, err = ended("unknown-graph", *NEXT, "--json")
    assert (code, err, out.count("\n")) == (3, "", 1)
    assert json.loads(out) == {
        "code": "GRAPH_NOT_FOUND",
        "message": "No task graph is called x.",
        "hint": "Known: shop.",
        "details": {"graph_id": "x"},
        "retryable": False,
    }


def test_a_refusal_for_a_person_is_on_standard_error() -> None:
    message = "error: No task graph is called x. [GRAPH_NOT_FOUND]\nhint: Known: shop.\n"
    assert ended("unknown-graph", *NEXT) == (3, "", message)


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_an_unexpected_failure_has_a_reference_and_keeps_its_secrets(flags: tuple[str, ...]) -> None:
    code, out, err = ended("broken", *NEXT, *flags)
    assert code == 1
    assert re.search(r"reference [0-9a-f]{12};", out + err)
    assert not re.search(r"secret|Traceback|ValueError: ", out + err)
    assert (out + err) == "".join(ended("broken", *NEXT, *flags)[1:])


def test_the_traceback_is_shown_when_asked_for() -> None:
    code, out, err = ended("broken", *NEXT, "--json", env={"METAGIT_MCP_DEBUG": "1"})
    assert (code, json.loads(out)["code"]) == (1, "INTERNAL_ERROR")
    assert "Traceback" in err
    assert "ValueError: the secret" in err


def test_an_interrupt_ends_with_130() -> None:
    assert ended("interrupted", *NEXT, "--json") == (130, "", "\n")


def test_an_interrupt_that_was_not_heard_ends_the_next_wait() -> None:
    code, out, err = ended("deaf", *NEXT, "--wait-seconds", "60")
    assert (code, out, "Exception ignored in" in err) == (130, "", True)


def test_a_reader_that_went_away_is_no_error() -> None:
    for arguments in ((*NEXT, "--json"), NEXT):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as gone:
            assert ended("long", *arguments, stdout=gone) == (0, "", "")


def test_a_reader_that_reads_one_line_is_no_error() -> None:
    script = 'set -o pipefail; "$@" | head -n 1'
    done = subprocess.run(
        ["/bin/bash", "-c", script, "bash", *command("long", *NEXT)],
        capture_output=True,
        env=environment(),
        cwd=ROOT,
        timeout=WAIT_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"Next:\n", b"")


@pytest.mark.parametrize("case", ["plain", "unknown-graph"])
def test_a_full_device_is_told_on_standard_error(case: str) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        code, _, err = ended(case, *NEXT, "--json", stdout=full)
    assert code == {"plain": 1, "unknown-graph": 3}[case]
    assert err == "error: Standard output cannot be written: No space left on device. [INTERNAL_ERROR]\n"


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_nothing_but_the_output(closed: str) -> None:
    for case, code in (("plain", 0), ("unknown-graph", 3)):
        script = f'"$@" {closed}'
        done = subprocess.run(
            ["/bin/sh", "-c", script, "sh", *command(case, *NEXT)],
            stdout=subprocess.PIPE,
            env=environment(),
            cwd=ROOT,
            timeout=WAIT_S,
            check=False,
        )
        assert (done.returncode, done.stdout) == (code, b"")


def test_an_encoding_that_lacks_a_letter_is_no_error() -> None:
    code, out, err = ended("hostile", *NEXT, env={"PYTHONIOENCODING": "latin-1"})
    assert (code, err) == (0, "")
    assert "??" in out


def test_json_is_utf_8_in_every_locale() -> None:
    code, out, _ = ended("hostile", *NEXT, "--json", env={"PYTHONIOENCODING": "latin-1"})
    assert (code, "漢字" in out) == (0, True)


# --- the program itself --------------------------------------------------------------------------------------------


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "metagit_mcp", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(),
        cwd=ROOT,
        timeout=WAIT_S,
        check=False,
    )


def test_the_module_is_the_program() -> None:
    done = program("--version")
    assert (done.returncode, done.stdout.split()[0], done.stderr) == (0, "metagit-mcp", "")


def test_a_misspelled_option_ends_with_2() -> None:
    done = program("schedule", "next", "--limt", "3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: unknown option --limt [INVALID_INPUT]\nhint: Did you mean --limit? ")
