"""The doctor finds leases without life, and files that are out of step with the ledger."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW
from tests.unit.application.diagnosed import FIX, claimed, looked, mended

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

# --- leases --------------------------------------------------------------------------------------------------------


def test_a_lease_that_nobody_renews_is_a_note_until_it_ends(desk: Desk) -> None:
    lease_id = claimed(desk)
    answers = []
    # A lease of 900 s; one in good hands is renewed after 300.
    for seconds in (604, 2, 293, 2):
        desk.wait(seconds)
        answers.append(looked(desk))
    lost = f"lease {lease_id} of w1 on g/a was not renewed by its server, which may be gone; it ends in "
    release = "metagit-mcp work release a --graph-id g --force"
    ended = f"ended, which the next command writes down: {lease_id}"
    assert answers == [
        [],
        [("leases", "note", f"{lost}294 s", release)],
        [("leases", "note", f"{lost}1 s", release)],
        [("leases", "note", ended, FIX)],
    ]
    assert mended(desk)[1:] == ([("leases", "fixed", ended)], [])
    assert desk.events()[-1] == "lease_expired"
    assert desk.row("a")["status"] == "ready"


def test_a_lease_of_the_command_line_needs_no_server(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.beside("cli").start("a")
    desk.wait(14_000)
    assert [each for each in looked(desk) if each[0] == "leases"] == []


def test_terms_of_ownership_end_too(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.start("a", queue_only=True)
    desk.wait(3_601)
    assert ("leases", "note", "ended, which the next command writes down: g/a", FIX) in looked(desk)


@pytest.mark.parametrize("gone", ["node", "graph", "not the node"])
def test_a_lease_on_a_node_that_is_gone_is_wrong(desk: Desk, gone: str) -> None:
    lease_id = claimed(desk)
    path = desk.path("tasks/graphs/g.json")
    if gone == "node":
        desk.graph("g", node("b", title="listed"))
    elif gone == "graph":
        path.unlink()
    else:
        path.write_text("{")
    what = f"lease {lease_id} of w1 on g/a is for a node that is gone from its file"
    wrong = ("leases", "wrong", what, f"metagit-mcp work report {lease_id} --state released")
    assert (wrong in looked(desk, fix=True)) == (gone != "not the node")
    if gone == "node":
        desk.report(lease_id, "released")
        assert [each for each in looked(desk) if each[0] == "leases"] == []


# --- files and ledger ----------------------------------------------------------------------------------------------


def test_rows_that_a_killed_process_did_not_write_back_are_written(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.graph("h", node("c"))
    looked(desk, fix=True)
    for node_id in ("a", "b", "c"):
        desk.start(node_id, f"agent-{node_id}")
    what = [("files", "graph g: not written back yet: a, b"), ("files", "graph h: not written back yet: c")]
    # A server that lives would be about to write them.
    assert looked(desk) == [(check, "note", text, FIX) for check, text in what]
    desk.wait(6)
    before, during, after = mended(desk)
    assert before == [(check, "wrong", text, FIX) for check, text in what]
    assert (during, after) == ([(check, "fixed", text) for check, text in what], [])
    assert (desk.statuses("g"), desk.statuses("h")) == ({"a": "running", "b": "running"}, {"c": "running"})


def test_what_another_program_did_is_taken_over(desk: Desk) -> None:
    claimed(desk)
    desk.wait(10)
    at = (NOW + timedelta(seconds=10)).isoformat()
    desk.set_row("a", status="completed", updated_at=at)
    taken = "changed by another program, which the next command takes over: g/a"
    assert mended(desk) == ([("files", "note", taken, FIX)], [("files", "fixed", taken)], [])
    assert desk.events()[-1] == "seen_finished"


def test_what_does_not_count_is_told_and_written_over(desk: Desk) -> None:
    claimed(desk)
    desk.wait(10)
    desk.set_row("a", status="ready", updated_at=(NOW + timedelta(seconds=10)).isoformat())
    texts = [
        ("note", "changed by another program, which the next command takes over: g/a", FIX),
        ("note", "set back by another program while leased or under review, which does not count: g/a"),
        ("wrong", "graph g: not written back yet: a", FIX),
    ]
    before, during, after = mended(desk)
    assert before == [("files", *text) for text in texts]
    assert (during[0], after) == (("files", "fixed", texts[0][1]), [])
    assert desk.row("a")["status"] == "running"
