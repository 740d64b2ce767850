"""Whatever stands on standard input and however the workspace is, a hook ends with 0 and says JSON or nothing."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from metagit_mcp.interfaces.hooks.calls import EVENTS as SECONDS
from metagit_mcp.interfaces.hooks.calls import understood
from tests import ready
from tests.interfaces.hooks.documented import EVENTS, HOSTS, INPUTS, KEYS, SESSION, assert_documented, given
from tests.interfaces.hooks.fixtures import LIMIT_S, answer, clean, run
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interfaces.hooks.fixtures import Ran, Workshop

ROOT = Path(__file__).resolve().parents[3]
WORKER = {"METAGIT_WORKER_MODE": "1"}
HUGE = 10 * 1024 * 1024
PIPE = subprocess.PIPE


def silence(host: str) -> str:
    return "{}\n" if host == "cursor" else ""


def assert_harmless(host: str, event: str, ran: Ran) -> None:
    assert ran.code == 0
    assert_documented(host, event, ran.record)
    assert ran.err.count("\n") <= 1
    assert "Traceback" not in ran.err


# --- any input --------------------------------------------------------------------------------------------------------

names = st.sampled_from(sorted({name for record in INPUTS.values() for name in record} | {"agent_id", "tool_input"}))
texts = st.text(max_size=30) | st.sampled_from(
    [SESSION, "mcp__x__metagit_schedule_next", "MCP:metagit_work_start", "x/y"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(scalars, lambda each: st.lists(each, max_size=3) | st.dictionaries(texts, each, max_size=3))
records = st.builds(
    lambda pair, changes, without: {
        name: each for name, each in {**INPUTS[pair], **changes}.items() if name not in without
    },
    st.sampled_from(sorted(INPUTS)),
    st.dictionaries(names, values, max_size=4),
    st.sets(names, max_size=4),
)


@drawn(record=records, event=st.sampled_from(EVENTS), host=st.sampled_from(HOSTS), worker=st.booleans())
def test_any_object_is_answered_with_documented_keys_or_not_at_all(
    record: dict[str, Any], event: str, host: str, *, worker: bool
) -> None:
    environ = {"METAGIT_WORKSPACE": "/nowhere", **(WORKER if worker else {})}
    said = answer(host, event, record, environ)
    assert (said.feedback, said.complaint) == ("", "")
    if said.record:
        assert_documented(host, event, said.record)
        assert json.loads(json.dumps(said.record, allow_nan=False)) == said.record
        inner: Any = said.record.get("hookSpecificOutput", said.record)
        written = inner.get("updatedInput", inner.get("updated_input"))
        assert {name: each for name, each in written.items() if name != "agent_id"} == {
            name: each for name, each in record["tool_input"].items() if name != "agent_id"
        }


@settings(max_examples=30)
@drawn(raw=st.binary(max_size=200) | values.map(lambda each: json.dumps(each).encode()), event=st.sampled_from(EVENTS))
def test_any_bytes_are_answered(raw: bytes, event: str) -> None:
    assert_harmless("codex", event, run(event, raw, "--host", "codex", environ=clean(**WORKER), cwd=Path("/")))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"null",
        b"[1]",
        b'"x"',
        b"{",
        b'{"session_id": NaN, "tool_input": {}}',
        b"\xff\xfe{}",
        b"[" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"tool_input": {"x": ' + b"9" * 5_000 + b"}}",
        b"x" * (HUGE + 70_000),
        b'{"session_id": "' + b"s" * HUGE + b'"}',
    ],
    ids=lambda raw: f"{raw[:12]!r}, {len(raw)} bytes",
)
@pytest.mark.parametrize(("host", "event"), [("claude", "stamp-agent"), ("cursor", "stop"), ("codex", "session-end")])
def test_what_is_no_object_is_passed_over(host: str, event: str, raw: bytes, tmp_path: Path) -> None:
    ran = run(event, raw, "--host", host, environ=clean(**WORKER, HOME=str(tmp_path)), cwd=tmp_path)
    assert (ran.code, ran.out, ran.err) == (0, silence(host), "")


def test_a_large_input_is_handed_back_whole(tmp_path: Path) -> None:
    record = given("claude", "stamp-agent", tool_input={"result": {"summary": "é\ud800" * 500_000}})
    ran = run("stamp-agent", json.dumps(record), environ=clean(), cwd=tmp_path)
    assert ran.record == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "updatedInput": {**record["tool_input"], "agent_id": SESSION},
        }
    }


# --- any arguments ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["later-event"],
        ["stop", "--host", "hal"],
        ["stop", "--host"],
        ["stop", "--fresh-flag"],
        ["stop", "stop"],
        ["", "--host=claude"],
    ],
)
def test_what_a_newer_plugin_asks_is_passed_over(words: list[str], tmp_path: Path) -> None:
    assert understood(words) is None
    ran = run(words[0], "{}", *words[1:], environ=clean(), cwd=tmp_path)
    assert (ran.code, ran.out) == (0, "")
    expected = "metagit-mcp hook: expected one of session-start, stamp-agent, stop, teammate-idle, session-end, with"
    assert ran.err == f"{expected} --host claude, codex, cursor; nothing is done\n"


def test_the_host_is_named_either_way() -> None:
    calls = [understood(words) for words in (["stop"], ["--host", "codex", "stop"], ["stop", "--host=cursor"])]
    assert [(each.event, each.host) for each in calls if each] == [
        ("stop", "claude"),
        ("stop", "codex"),
        ("stop", "cursor"),
    ]
    assert list(SECONDS) == list(EVENTS)


def test_a_person_is_shown_help(tmp_path: Path) -> None:
    ran = run("--help", "", environ=clean(), cwd=tmp_path)
    assert ran.code == 0
    assert ran.out.startswith("Usage: metagit-mcp hook [OPTIONS]")
    controller, terminal = os.openpty()
    try:
        words = [sys.executable, "-m", "metagit_mcp", "hook"]
        with ready.Popen(words, stdin=terminal, stdout=PIPE, stderr=PIPE, env=clean(), cwd=tmp_path) as process:
            out, err = process.communicate(timeout=LIMIT_S)
    finally:
        os.close(controller)
        os.close(terminal)
    assert (process.returncode, out) == (2, b"")
    assert err.startswith(b"Usage: metagit-mcp hook [OPTIONS]")


# --- any workspace ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("schedule/policy.json", b"{", "POLICY_INVALID"),
        ("schedule/policy.json", b'{"slots": "many"}', "POLICY_INVALID"),
        ("schedule/ledger.db", b"no database at all" * 100, "STORE_CORRUPT"),
    ],
)
def test_a_broken_workspace_is_one_line_on_standard_error(
    host: str, name: str, content: bytes, code: str, workshop: Workshop
) -> None:
    workshop.desk.lease(SESSION)
    workshop.desk.end()
    path = workshop.desk.path(name)
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
    path.write_bytes(content)
    for event in ("session-start", "stop"):
        ran = workshop.run(host, event, WORKER)
        assert (ran.code, ran.out) == (0, silence(host))
        assert ran.err.startswith(f"metagit-mcp hook: {code}: ")
        assert ran.err.count("\n") == 1


def test_a_newer_ledger_is_one_line_too(workshop: Workshop) -> None:
    import sqlite3  # noqa: PLC0415 - only here is a ledger written by hand

    workshop.desk.lease(SESSION)
    workshop.desk.end()
    with contextlib.closing(sqlite3.connect(workshop.desk.path("schedule/ledger.db"))) as ledger:
        ledger.execute("PRAGMA user_version = 99")
        ledger.commit()
    ran = workshop.run("claude", "session-start")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("metagit-mcp hook: STORE_TOO_NEW: ")


def test_a_broken_graph_harms_only_itself(workshop: Workshop) -> None:
    workshop.desk.path("tasks/graphs/docs.json").write_text("{")
    ran = workshop.run("claude", "session-start")
    told = "metagit: Runnable now: 3 (shop 3). Waiting for a person: 1."
    assert (ran.code, ran.err) == (0, "")
    assert ran.record == {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": told}}


def test_a_variable_that_cannot_be_is_one_line(workshop: Workshop) -> None:
    ran = workshop.run("claude", "session-start", {"METAGIT_LEDGER": "mysql://secret@host"})
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "metagit-mcp hook: INVALID_INPUT: METAGIT_LEDGER must be the address of a PostgreSQL database\n"


def test_a_database_that_is_away_is_one_line(workshop: Workshop) -> None:
    workshop.desk.put("schedule/workspace.json", {"workspace_id": "w-1"})
    ran = workshop.run("claude", "session-start", {"METAGIT_LEDGER": "postgresql://nobody@127.0.0.1:1/none"})
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("metagit-mcp hook: STORE_UNAVAILABLE: ")
    assert ran.err.count("\n") == 1


@pytest.fixture
def locked(workshop: Workshop) -> Iterator[Workshop]:
    """A ledger that another process writes to for a long time."""
    import sqlite3  # noqa: PLC0415 - as above

    workshop.desk.lease(SESSION)
    path = workshop.desk.path("schedule/ledger.db")
    with contextlib.closing(sqlite3.connect(path)) as ledger:
        ledger.execute("BEGIN IMMEDIATE")
        with path.with_name("ledger.db.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield workshop


def test_a_ledger_that_is_being_written_is_read_all_the_same(locked: Workshop) -> None:
    ran = locked.run("claude", "session-start")
    assert (ran.code, ran.err) == (0, "")
    # One that takes too long ends without an answer.
    assert ran.record is not None
    assert "This agent holds lease" in ran.record["hookSpecificOutput"]["additionalContext"]


AS_NOBODY = """
import getpass, os, sys
sys.path.insert(0, sys.argv.pop(1))
from tests.ready_program import load
load()
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
from metagit_mcp.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that any user may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_workspace_that_cannot_be_written_is_read(workshop: Workshop, open_to_all: Path) -> None:
    # Taken by a command: no server's end gives it back.
    lease = Desk(workshop.root, "cli").lease(SESSION)
    workshop.close()
    root = shutil.copytree(workshop.root, open_to_all / "ws")
    clock = shutil.copy(workshop.desk.clock, open_to_all / "clock")
    for path in (*root.rglob("*"), root):
        path.chmod(0o555 if path.is_dir() else 0o444)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(ROOT), "hook", "session-start"],
        input=json.dumps(given("claude", "session-start")).encode(),
        capture_output=True,
        timeout=60,
        check=False,
        cwd="/",
        env=clean(CLAUDE_PROJECT_DIR=str(root), METAGIT_MCP_CLOCK=f"@{clock}"),
    )
    for path in root.rglob("*"):
        path.chmod(0o755)
    assert (done.returncode, done.stderr) == (0, b"")
    assert lease in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_every_answer_has_documented_keys() -> None:
    assert set(KEYS) == {pair for pair in INPUTS if pair[1] != "session-end" and pair[1] != "teammate-idle"}
