"""The commands `group …`: what they print, what they ask, and what they end with."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import GroupNotFound, StoreUnavailable
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.estimate_answers import EstimateRequest
from tests.groups.real_events import LINES
from tests.interfaces.cli.fake_application import FED, OUTBOX, SAMPLES, VERIFIED
from tests.interfaces.mcp.fake_application import estimate_answer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.interfaces.cli.conftest import Ended

    Run = Callable[..., Ended]

G = "group:cli"
WHOLE = b"".join(line + b"\n" for line in LINES)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_bytes(WHOLE)
    return path


def records(ended: Ended) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.out.splitlines()]


def sizes(ended: Ended) -> list[int]:
    """How many Events each call took in."""
    return [len(question[1]) for use_case, question in ended.asked if use_case == "groups.take_in"]


# --- deliver ---------------------------------------------------------------------------------------------------------


def test_a_log_is_delivered_and_summed_up(run: Run, log: Path) -> None:
    ended = run("group", "deliver", str(log), "--group", G)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "Delivered up to line 36: 36 applied, 0 known before, 0 held; Cursor 36",
        "next step: Go on.",
    ]
    ((_, (group_id, events, declared)),) = ended.asked
    assert (group_id, [event.sequence for event in events]) == (G, list(range(1, 37)))
    assert declared == {"first": None, "filtered": None}


def test_what_is_declared_of_the_log_goes_with_every_batch(run: Run, log: Path) -> None:
    ended = run("group", "deliver", str(log), "--group", G, "--first-sequence", "5", "--filtered")
    assert [question[2] for _, question in ended.asked] == [{"first": 5, "filtered": True}]


def test_each_batch_is_a_line_of_json(run: Run, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagit_mcp.interfaces.cli.delivering.MOST_EVENTS", 16)
    ended = run("group", "deliver", str(log), "--group", G, "--json")
    assert (ended.code, sizes(ended)) == (0, [16, 16, 4])
    assert [(each["cursor"], each["applied"]) for each in records(ended)] == [(16, 16), (32, 16), (36, 4)]


def test_a_batch_has_no_more_bytes_than_a_call_may(run: Run, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = max(map(len, LINES))
    monkeypatch.setattr("metagit_mcp.interfaces.cli.delivering.MOST_BYTES", longest)
    ended = run("group", "deliver", str(log), "--group", G)
    bodies = [[len(event.body) for event in question[1]] for _, question in ended.asked]
    assert sum(map(len, bodies)) == 36
    assert all(sum(each) <= longest for each in bodies)


def test_a_log_without_events_is_delivered_to_nobody(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_text("\n \r\n")
    ended = run("group", "deliver", str(path), "--group", G)
    assert (ended.code, ended.asked, ended.out) == (0, [], "Nothing was delivered: there is no Event in it.\n")
    assert run("group", "deliver", str(path), "--group", G, "--json").out == ""


def test_blank_lines_a_mark_at_the_beginning_and_a_missing_end_are_no_harm(run: Run, log: Path) -> None:
    log.write_bytes(b"\xef\xbb\xbf" + LINES[0] + b"\r\n\n" + LINES[1])
    ended = run("group", "deliver", str(log), "--group", G)
    assert (ended.code, sizes(ended)) == (0, [2])
    assert ended.out.startswith("Delivered up to line 3: 2 applied")


def test_a_torn_line_is_named_after_all_that_stands_before_it_is_durable(run: Run, log: Path) -> None:
    log.write_bytes(b"\n".join([*LINES[:3], LINES[3][:50], *LINES[4:6], b""]))
    ended = run("group", "deliver", str(log), "--group", G, "--json")
    answer, error = records(ended)
    assert (ended.code, sizes(ended), answer["cursor"]) == (2, [3], 3)
    assert error["code"] == "SCHEMA_VALIDATION_FAILED"
    assert error["message"].startswith(f"{log}, line 4: Event unknown: event: must be JSON: ")
    assert error["hint"].endswith(
        "Lines 1 to 3 are durable. Deliver all of it again then: what was delivered before counts as known."
    )
    assert (error["details"]["line"], error["details"]["durable_line"]) == (4, 3)


def test_people_see_what_was_delivered_before_an_error(run: Run, log: Path) -> None:
    log.write_bytes(b"\n".join([*LINES[:3], b"{", b""]))
    ended = run("group", "deliver", str(log), "--group", G)
    assert ended.code == 2
    assert ended.out.splitlines()[0] == "Delivered up to line 3: 3 applied, 0 known before, 0 held; Cursor 3"
    assert ended.err.startswith(f"error: {log}, line 4: ")


def test_a_last_line_that_may_not_be_finished_is_told_as_such(run: Run, log: Path) -> None:
    log.write_bytes(LINES[0][:-1])
    ended = run("group", "deliver", str(log), "--group", G)
    assert (ended.code, ended.out) == (2, "")
    assert ", line 1, which has no line end yet: " in ended.err
    assert "Nothing of it was delivered." in ended.err


def test_a_refused_event_is_named_by_its_line(run: Run, log: Path) -> None:
    other = LINES[2].replace(b'"groupId": "group:cli"', b'"groupId": "group:x"')
    log.write_bytes(b"\n".join([LINES[0], b"", LINES[1], other, b""]))
    error = run("group", "deliver", str(log), "--group", G, "--json").record
    assert (error["code"], error["message"]) == ("EVENT_CONFLICT", f"{log}, line 4: It is of another Group.")
    assert error["details"] == {"sequence": 3, "line": 4, "durable_line": 0}


def test_a_refused_batch_is_named_by_its_lines(run: Run, log: Path) -> None:
    ended = run(
        "group", "deliver", str(log), "--group", G, "--json", groups_take_in=StoreUnavailable("The disk is full.")
    )
    assert ended.record["message"] == f"{log}, lines 1 to 36: The disk is full."
    assert (ended.code, ended.record["retryable"]) == (5, True)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere.jsonl", "there is no file 'nowhere.jsonl'"),
        (".", "'.' cannot be read: Is a directory"),
        ("a\0b", "'a b' cannot be read: it is no file name"),
    ],
)
def test_a_file_that_cannot_be_read(run: Run, path: str, message: str) -> None:
    error = run("group", "deliver", path, "--group", G, "--json").record
    assert (error["code"], error["message"], error["details"]) == ("INVALID_INPUT", message, {"field": "file"})


@pytest.mark.parametrize(
    "words",
    [
        ["deliver", "f"],
        ["deliver", "f", "--group", "group:a\n"],
        ["deliver", "f", "--group", "../x"],
        ["show", ".."],
        ["outbox", ""],
        ["verify", "a b"],
        ["answer", "é", "a", "refused"],
        ["show", "g" * 257],
    ],
)
def test_a_group_has_to_be_named_by_an_id(run: Run, words: list[str]) -> None:
    ended = run("group", *words, "--json")
    assert (ended.code, ended.record["code"], ended.asked) == (2, "INVALID_INPUT", [])


@pytest.mark.parametrize("number", ["0", "x", "-1", str(2**53 + 1)])
def test_a_first_sequence_that_is_none(run: Run, log: Path, number: str) -> None:
    ended = run("group", "deliver", str(log), "--group", G, "--first-sequence", number, "--json")
    assert (ended.code, ended.record["details"]) == (2, {"field": "first_sequence"})


def test_following_tells_each_batch_and_waits_for_the_end_of_a_line(run: Run, log: Path) -> None:
    log.write_bytes(WHOLE + LINES[0][:40])

    def follow(more: Callable[[], bool], goes_on: Callable[[], bool]) -> None:
        assert (more(), more(), goes_on()) == (True, False, True)
        with log.open("ab") as file:
            file.write(LINES[0][40:] + b"\n")
        assert (more(), more()) == (True, False)

    ended = run("group", "deliver", str(log), "--group", G, "--follow", groups_follow=follow)
    assert ended.out.splitlines() == [
        "line 36: 36 applied, 0 known before, 0 held; Cursor 36",
        "line 37: 1 applied, 0 known before, 0 held; Cursor 1",
        "Delivered up to line 37: 37 applied, 0 known before, 0 held; Cursor 1",
        "next step: Go on.",
    ]


# --- how Groups stand ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "use_case", "question"),
    [
        ("list", "groups.listed", ()),
        ("show group:auth", "groups.shown", ("group:auth",)),
        ("outbox group:auth", "groups.outbox", ("group:auth",)),
        ("answer group:auth L-1:accept refused", "groups.answer", ("group:auth", "L-1:accept", "refused", "")),
        ("answer group:auth e:1 delivered --reason so", "groups.answer", ("group:auth", "e:1", "delivered", "so")),
        ("verify", "groups.verify", (None,)),
        ("verify group:auth", "groups.verify", ("group:auth",)),
        ("snapshot", "groups.snapshot", ()),
    ],
)
def test_each_command_asks_its_use_case_and_prints_the_whole_answer(
    run: Run, line: str, use_case: str, question: tuple[object, ...]
) -> None:
    ended = run("group", *line.split(), "--json")
    assert (ended.code, ended.asked) == (0, [(use_case, question)])
    assert ended.record == plain(SAMPLES[use_case])


def test_an_outbox_is_never_cut(run: Run) -> None:
    many = replace(OUTBOX, proposals=OUTBOX.proposals * 500, proposals_total=500)
    assert run("group", "outbox", "group:auth", "--json", groups_outbox=many).record == plain(many)


def test_people_see_tables_of_groups(run: Run) -> None:
    assert run("group", "list").out.splitlines() == [
        "Groups fed by Events:",
        "  group       cursor  held  missing  items  outbox  state",
        "  group:auth      10     8  11-12        3       1  open",
        "next step: Look at one.",
    ]
    assert run("group", "show", "group:auth").out.splitlines() == [
        "group:auth:",
        "  cursor  held  missing  items  outbox  state",
        "      10     8  11-12        3       1  open",
        "WorkItems:",
        "  state   items",
        "  open        2",
        "  queued      1",
        "Its log is visible from sequence 3 on.",
        "warning: it is old",
        "next step: Deliver the rest.",
    ]


def test_people_see_tables_of_what_a_group_is_asked_and_of_what_was_replayed(run: Run) -> None:
    assert run("group", "outbox", "group:auth").out.splitlines() == [
        "Outbox of group:auth:",
        "  at                    command      work item   agent               epoch  action id",
        "  2026-11-29T12:00:00Z  work.submit  auth:build  agent://acme/coder      2  L-1:submit",
        "next step: Send it.",
    ]
    assert run("group", "answer", "group:auth", "L-1:accept", "refused").out.splitlines() == [
        "L-1:accept: refused",
        "  L-1:accept left the outbox",
        "  L-1:start left the outbox",
        "next step: Look again.",
    ]
    assert run("group", "verify").out.splitlines() == [
        "Groups:",
        "  group       cursor  items  replayed",
        "  group:auth      10      3  same",
        "ledger at 40, newest snapshot at 30",
        "next step: Nothing to do.",
    ]
    assert run("group", "snapshot").out.splitlines() == [
        "snapshot kept at 40, 1000 bytes",
        "next step: Verify it.",
    ]


def test_people_see_when_work_is_done(run: Run) -> None:
    asked = run("group", "estimate", "group:shop", "build")
    assert asked.asked == [("groups.estimate", (EstimateRequest(group_id="group:shop", node_id="build"),))]
    assert asked.out.splitlines() == [
        "group:shop/build: queued, confidence 0.75",
        "  starts 2026-11-29T12:00:00Z to 2026-11-29T12:00:00Z",
        "  is done by 2026-11-29T12:00:00Z",
        "next step: Ask again.",
    ]
    unknown = replace(estimate_answer(), node_id=None, estimated_start=None, estimated_completion=None)
    assert run("group", "estimate", "group:shop", groups_estimate=unknown).out.splitlines() == [
        "group:shop: queued, confidence 0.75",
        "next step: Ask again.",
    ]


def test_people_see_whether_a_log_is_filtered_or_over_and_that_there_is_none(run: Run) -> None:
    several = replace(
        SAMPLES["groups.listed"],
        groups=(replace(FED, filtered=True, missing=None), replace(FED, filtered=True, archived=True)),
    )
    shown = run("group", "list", groups_listed=several).out.splitlines()
    assert [line.split()[-1] for line in shown[2:4]] == ["filtered", "archived"]
    assert run("group", "list", groups_listed=replace(several, groups=())).out.splitlines() == [
        "No Group is fed by Events.",
        "next step: Look at one.",
    ]
    whole = replace(SAMPLES["groups.shown"], group=replace(FED, first_sequence=1))
    assert "visible" not in run("group", "show", "group:auth", groups_shown=whole).out


def test_a_state_that_differs_ends_with_its_place_and_exit_code_5(run: Run) -> None:
    (own,) = VERIFIED.groups
    differs = replace(
        VERIFIED, same=False, differs_at="/feeds", groups=(replace(own, same=False, differs_at="/feeds/group:auth"),)
    )
    ended = run("group", "verify", groups_verify=differs)
    assert (ended.code, ended.out.splitlines()[2:5]) == (
        5,
        [
            "  group:auth      10      3  differs at /feeds/group:auth",
            "ledger at 40, newest snapshot at 30",
            "The live state differs at /feeds.",
        ],
    )


def test_an_unknown_group_is_not_found(run: Run) -> None:
    hint = "metagit_group_deliver begins one with the first Events of its log."
    ended = run("group", "show", "group:x", groups_shown=GroupNotFound("No Group group:x.", hint=hint))
    assert (ended.code, ended.err.splitlines()) == (
        3,
        [
            "error: No Group group:x. [GROUP_NOT_FOUND]",
            "hint: metagit-mcp group deliver begins one with the first Events of its log.",
        ],
    )
