"""Logs that are delivered and Commands that are proposed: the requirements A11, K6 and K9 of the conformance page."""

import json
from pathlib import Path
from typing import Any

from metagit_mcp.domain.outbox import action_id
from metagit_mcp.interfaces.cli.main import main
from metagit_mcp.wire.codec import line
from tests.groups import commands
from tests.groups.offered import CAPABLE, CODER, at_the_beginning, deliver, offering
from tests.groups.real_events import LINES
from tests.scenarios.at_once import finished
from tests.unit.application.desk import Desk

G = "group:cli"


def desk_in(root: Path) -> Desk:
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    return at_the_beginning(Desk(root))


def proposed(desk: Desk) -> dict[str, bytes]:
    """What the Group is asked for, byte for byte, by action id."""
    answer = finished(desk.application.groups.outbox(G))
    return {each.action_id: line(each) for each in answer.proposals if each.command != "schedule.estimate"}


def test_a_log_is_gone_on_with_after_its_cursor_whatever_is_delivered_again(tmp_path: Path) -> None:
    """Claims K6."""
    desk = desk_in(tmp_path)
    log = tmp_path / "log"
    cursors = []
    for end in (10, 25, 36):
        log.write_bytes(b"".join(text + b"\n" for text in LINES[:end]))
        assert main(["group", "deliver", str(log), "--group", G, "--workspace", str(tmp_path), "--json"]) == 0
        cursors.append(finished(desk.beside().application.groups.shown(G)).group.cursor)
    assert cursors == [10, 25, 36]


def test_a_worker_gets_what_its_filter_lets_through_and_misses_nothing(tmp_path: Path) -> None:
    """Claims A11."""
    desk = desk_in(tmp_path)
    events: list[Any] = [json.loads(text) for text in LINES]
    let_through = [each for each in events if each["kind"].startswith("work.")]
    answer = deliver(desk, let_through, filtered=True)
    assert (answer["cursor"], answer["held"]) == (let_through[-1]["sequence"], 0)
    group = finished(desk.application.groups.shown(G)).group
    assert (group.missing, group.items_total) == (None, 3)


def test_a_command_keeps_its_action_id_and_its_content_until_it_is_answered(tmp_path: Path) -> None:
    """Claims K9."""
    desk = desk_in(tmp_path)
    group = offering(items=2)
    deliver(desk, group.log)
    lease = desk.lease(CODER, capabilities=CAPABLE)
    asked = proposed(desk)
    assert [*asked] == [action_id("work.accept_offer", lease), action_id("work.start", lease)]
    # The Group goes on, time passes, the lease is renewed, another process reads.
    before = len(group.log)
    commands.make_noise(group, "message.posted")
    deliver(desk, group.log[before:])
    desk.wait(60)
    desk.report(lease, "checkpointed", note="half")
    assert {name: each for name, each in proposed(desk.beside()).items() if name in asked} == asked
    # Another act is another Command under another id.
    desk.report(lease, "completed", result={"summary": "done", "artifacts": ["a"], "evidence": ["green"]})
    later = proposed(desk)
    assert {name: each for name, each in later.items() if name in asked} == asked
    assert later.keys() - asked.keys() == {action_id("work.submit", lease)}
