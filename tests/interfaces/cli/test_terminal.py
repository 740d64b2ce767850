"""At a terminal: tables, and questions that only a person answers, asked where they do not spoil the answer."""

from __future__ import annotations

import json
import os
import pwd
import signal
import sys

import pytest

from metagit_mcp.interfaces.cli.output import print_in_place
from tests.interfaces.cli.fake_runs import Terminal, ended

APPROVE = ("work", "approve", "build")
SET = ("schedule", "policy", "set", "--patch", '{"slots": 4, "agents": {}, "weights": {"cost": 1}}')


def test_approving_shows_the_node_and_asks_for_its_id() -> None:
    with Terminal("plain", *APPROVE) as terminal:
        terminal.until("Type build to approve it: ")
        terminal.type("build")
        code, shown = terminal.rest()
    assert (code, shown.splitlines()) == (
        0,
        [
            "shop/build: Build it; after plan",
            "Type build to approve it: build",
            "shop/build approved by ada at 2026-11-29T12:00:00+00:00",
            "next step: It may run now.",
        ],
    )


@pytest.mark.parametrize("typed", ["", "y", "yes", "buil", "Build"])
def test_another_word_approves_nothing(typed: str) -> None:
    with Terminal("plain", *APPROVE) as terminal:
        terminal.until("Type build to approve it: ")
        terminal.type(typed)
        code, shown = terminal.rest()
    assert code == 4
    assert "error: build was not typed; nothing is changed. [AUTH_FORBIDDEN]" in shown


def test_the_end_of_input_approves_nothing() -> None:
    with Terminal("plain", *APPROVE) as terminal:
        terminal.until("Type build to approve it: ")
        terminal.type("\x04")
        assert terminal.rest()[0] == 4


def test_an_interrupt_at_the_question_ends_with_130() -> None:
    with Terminal("plain", *APPROVE) as terminal:
        terminal.until("Type build to approve it: ")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.rest()[0] == 130


def test_the_question_does_not_spoil_the_answer() -> None:
    with Terminal("plain", *APPROVE, "--json", captured=True) as terminal:
        terminal.until("Type build to approve it: ")
        terminal.type("build")
        assert terminal.process.stdout is not None
        line = terminal.process.stdout.read()
        assert terminal.rest()[0] == 0
    assert (line.count(b"\n"), json.loads(line)["node_id"]) == (1, "build")


def test_without_a_terminal_an_operator_is_needed() -> None:
    code, out, err = ended("plain", *APPROVE)
    assert (code, out) == (4, "")
    assert err == (
        "error: Only a person may approve it: build. [AUTH_FORBIDDEN]\n"
        "hint: Do it at a terminal, or say with --operator NAME who vouches for it.\n"
    )
    assert ended("plain", *APPROVE, "--operator", "ada")[0] == 0


def test_taking_a_node_back_asks_for_its_id() -> None:
    release = ("work", "release", "build", "--force")
    with Terminal("plain", *release) as terminal:
        terminal.until("Type build to take it back: ")
        terminal.type("build")
        code, shown = terminal.rest()
    assert (code, shown.splitlines()) == (
        0,
        [
            "shop/build: Build it; after plan",
            "Type build to take it back: build",
            "shop/build is open, by ada",
            "next step: Ask for the next.",
        ],
    )
    with Terminal("plain", *release) as terminal:
        terminal.until("Type build to take it back: ")
        terminal.type("y")
        assert terminal.rest()[0] == 4


@pytest.mark.parametrize("act", [("review", "build", "--accept"), ("retry", "build")])
def test_a_judgement_shows_the_node_and_records_the_user(act: tuple[str, ...]) -> None:
    with Terminal("named", "work", *act) as terminal:
        code, shown = terminal.rest()
    assert (code, shown.splitlines()) == (
        0,
        [
            "shop/build: Build it; after plan",
            f"shop/build is open, by {pwd.getpwuid(os.getuid()).pw_name}",
            "next step: Ask for the next.",
        ],
    )


def test_a_person_is_told_that_the_command_waits() -> None:
    with Terminal("plain", "schedule", "next", "--wait-seconds", "60", "--json", captured=True) as terminal:
        assert terminal.process.stdout is not None
        line = terminal.process.stdout.read()
        code, shown = terminal.rest()
    assert (code, shown) == (0, "Waits up to 60 seconds if there is no work; Ctrl-C ends it.\n")
    assert json.loads(line)["decisions"][0]["node_id"] == "build"
    assert ended("plain", "schedule", "next", "--wait-seconds", "60")[2] == ""


def test_the_user_of_the_terminal_is_who_approves() -> None:
    with Terminal("echo", *APPROVE) as terminal:
        terminal.until("Type build to approve it: ")
        terminal.type("build")
        code, shown = terminal.rest()
    assert code == 0
    assert f"approved by {pwd.getpwuid(os.getuid()).pw_name} at" in shown


def test_each_key_of_organization_policy_is_typed() -> None:
    with Terminal("plain", *SET) as terminal:
        for key in ("agents", "slots"):
            terminal.until(f"Type {key} to set it: ")
            terminal.type(key)
        assert terminal.rest()[0] == 0


def test_organization_policy_without_a_terminal_needs_an_operator() -> None:
    code, _, err = ended("plain", *SET)
    assert (code, err.splitlines()[0]) == (4, "error: Only a person may set it: agents, slots. [AUTH_FORBIDDEN]")
    assert ended("plain", *SET, "--operator", "ada")[0] == 0


def test_the_policy_of_rfc_0012_is_set_without_a_question() -> None:
    with Terminal("plain", "schedule", "policy", "set", "--cost", "1", "--patch", '{"slotz": 1}') as terminal:
        code, shown = terminal.rest()
    assert (code, "Type " in shown) == (0, False)


def test_an_operator_with_a_hostile_name_is_refused() -> None:
    code, _, err = ended("plain", *APPROVE, "--operator", "\x1b[1mada")
    assert (code, err.isascii(), "\x1b" in err) == (2, True, False)


def test_a_table_on_a_terminal_fits_80_columns_and_obeys_nothing() -> None:
    with Terminal("hostile", "schedule", "next") as terminal:
        code, shown = terminal.rest()
    assert code == 0
    assert not {mark for mark in shown if mark != "\n" and not mark.isprintable()}
    assert "[bold]x[/]" in shown
    assert ":smile:" in shown
    rows = shown.splitlines()
    assert max(map(len, rows[: rows.index(next(row for row in rows if row.startswith("why")))])) <= 80


# --- in place --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "lines", "shown"),
    [
        ("xterm", "4", f"\x1b[H{'x' * 15}\x1b[K\nlast\x1b[K\n\x1b[J"),
        ("xterm", "3", "\x1b[Hlast\x1b[K\n\x1b[J"),
        ("xterm", "9", f"\x1b[Hone\x1b[K\n{'x' * 15}\x1b[K\nlast\x1b[K\n\x1b[J"),
        ("dumb", "4", f"one\n{'x' * 15}\nlast\n"),
    ],
)
def test_what_is_shown_in_place_is_the_end_that_fits(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes], kind: str, lines: str, shown: str
) -> None:
    for name, each in {"TERM": kind, "COLUMNS": "10", "LINES": lines}.items():
        monkeypatch.setenv(name, each)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert print_in_place(["one", "x" * 15, "last"])
    assert capsysbinary.readouterr().out.decode() == shown
