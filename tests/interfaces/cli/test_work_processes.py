"""Work under leases as scripts do it: each command a process on a real workspace, some of which wait for others."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
from typing import IO, TYPE_CHECKING, Any

import pytest

from tests import ready
from tests.interfaces.cli.fake_runs import ROOT, WAIT_S, Terminal, command, ended, environment, said_aside

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
OUTLINE = "Design it\nBuild it (after: design-it)\n"


class Shop:
    """A workspace with two nodes, the second after the first, and the program on it."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self("init", self.root)
        self("task", "plan", "--title", "Shop", "--graph-id", "shop", "--outline", OUTLINE)

    def __call__(self, *arguments: str, code: int = 0) -> Json:
        done, out, err = ended("real", *arguments, "--json", *self.flags)
        answer: Json = json.loads(out)
        assert (done, err, out.count("\n")) == (code, said_aside(code, answer), 1), out
        return answer

    @property
    def flags(self) -> tuple[str, str]:
        return ("--workspace", self.root)

    def claim(self, agent_id: str = "a", code: int = 0) -> Json:
        return self("schedule", "next", "--claim", "--agent-id", agent_id, code=code)

    def lease(self, agent_id: str = "a") -> str:
        (decision,) = self.claim(agent_id)["decisions"]
        lease_id: str = decision["lease"]["lease_id"]
        return lease_id

    def report(self, lease_id: str, state: str, *flags: str, code: int = 0) -> Json:
        return self("work", "report", lease_id, "--state", state, *flags, code=code)

    def set_policy(self, **keys: object) -> None:
        self("schedule", "policy", "set", "--operator", "ada", "--patch", json.dumps(keys))

    def status(self) -> Json:
        return self("schedule", "status")

    def piped(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command whose output a script reads while it runs."""
        return ready.Popen(
            command("real", *arguments, *self.flags),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            cwd=ROOT,
            text=True,
        )


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_one_node_from_claim_to_result(shop: Shop) -> None:
    lease_id = shop.lease()
    again = shop.claim()
    assert ([each["lease_id"] for each in again["held"]], again["decisions"]) == ([lease_id], [])
    assert shop.claim("b", code=10)["not_eligible"] == [
        {"reason": "leased", "nodes": 1},
        {"reason": "not_ready", "nodes": 1},
    ]
    (running,) = shop.status()["running"]
    assert (running["node_id"], running["agent_id"], "leased_until" in running) == ("design-it", "a", True)
    assert shop("task", "show", "design-it")["node"]["status"] == "running"

    ended_with = shop.report(lease_id, "completed", "--result", '{"summary": "Drawn"}')
    assert (ended_with["node_status"], ended_with["released_slot"]) == ("completed", True)
    assert shop("task", "show", "design-it")["node"]["status"] == "completed"
    (made,) = shop.claim("b")["decisions"]
    assert [each["summary"] for each in made["dispatch_hints"]["inputs"]] == ["Drawn"]

    assert shop.report(lease_id, "running", code=4)["code"] == "WORK_STALE_OWNERSHIP"
    assert shop.report("L-NOBODYSLEASE", "running", code=3)["code"] == "LEASE_NOT_FOUND"
    assert shop("work", "start", "build-it", "--agent-id", "c", code=4)["code"] == "WORK_ALREADY_OWNED"


def test_a_claim_whose_process_was_killed_is_repeated_under_its_action_id(shop: Shop) -> None:
    claim = ("schedule", "next", "--claim", "--agent-id", "a", "--action-id", "run-1")
    kill = {"METAGIT_MCP_FAULT": "ledger.committed"}
    assert ended("real", *claim, "--json", *shop.flags, env=kill) == (-signal.SIGKILL, "", "ledger.committed\n")
    given = shop(*claim)
    assert ([each["node_id"] for each in given["decisions"]], shop(*claim)) == (["design-it"], given)
    assert shop(*claim, "--limit", "2", code=4)["code"] == "ACTION_ID_COLLISION"
    lease_id = given["decisions"][0]["lease"]["lease_id"]
    report = ("work", "report", lease_id, "--state", "completed", "--action-id", "run-1-end")
    assert ended("real", *report, "--json", *shop.flags, env=kill) == (-signal.SIGKILL, "", "ledger.committed\n")
    reported = shop(*report)
    assert (reported["node_status"], shop(*report)) == ("completed", reported)
    # The first reply is what it was; that its lease is over is said beside it.
    again = shop(*claim)
    assert ({**again, "warnings": []}, len(again["warnings"])) == (given, 1)
    assert shop("task", "show", "design-it")["node"]["status"] == "completed"


def test_a_node_is_taken_back(shop: Shop) -> None:
    lease_id: str = shop("work", "start", "design-it", "--agent-id", "a")["lease"]["lease_id"]
    assert shop("work", "release", "design-it", "--force", code=4)["code"] == "AUTH_FORBIDDEN"
    taken = shop("work", "release", "design-it", "--force", "--note", "It hangs", "--operator", "ada")
    assert (taken["node_status"], taken["by"]) == ("open", "ada")
    assert shop.report(lease_id, "completed", code=4)["code"] == "WORK_STALE_OWNERSHIP"
    (made,) = shop.claim("b")["decisions"]
    (attempt,) = made["dispatch_hints"]["attempts"]
    assert (attempt["agent_id"], attempt["outcome"], attempt["note"]) == ("a", "revoked", "It hangs")


def person(shop: Shop) -> list[str]:
    """The command that the status gives to a person, as its words after the program's name."""
    (needed,) = [each for each in shop.status()["needs_person"] if each["node_id"] == "design-it"]
    words = shlex.split(needed["command"])
    assert words[0] == "metagit-mcp"
    return words[1:]


def test_what_failed_too_often_waits_for_a_person(shop: Shop) -> None:
    shop.set_policy(retries={"max_attempts": 1})
    assert shop.report(shop.lease(), "failed", "--note", "No key")["node_status"] == "parked"
    assert shop.claim(code=11)["decisions"] == []
    retry = person(shop)
    assert retry == ["work", "retry", "design-it", "--graph-id", "shop"]
    assert shop(*retry, code=4)["code"] == "AUTH_FORBIDDEN"
    assert shop(*retry, "--operator", "ada")["node_status"] == "open"
    assert shop(*retry, "--operator", "ada", code=4)["code"] == "INVALID_STATE_TRANSITION"
    assert shop.lease()


def test_a_result_waits_for_a_review(shop: Shop) -> None:
    shop.set_policy(groups={"shop": {"review": True}})
    assert shop.report(shop.lease(), "completed")["node_status"] == "submitted"
    assert shop.claim(code=11)["decisions"] == []
    accept = person(shop)
    assert accept == ["work", "review", "design-it", "--graph-id", "shop", "--accept"]
    reject = [*accept[:-1], "--reject", "--note", "Untested", "--operator", "ada"]
    assert shop(*reject)["node_status"] == "open"
    assert shop.report(shop.lease(), "completed")["node_status"] == "submitted"
    assert shop(*accept, "--operator", "ada")["node_status"] == "completed"


def test_a_pause_and_its_end(shop: Shop) -> None:
    paused = shop("pause", "--group", "shop", "--reason", "Release", "--operator", "ada")
    assert [(each["scope"], each["name"], each["note"]) for each in paused["pauses"]] == [("group", "shop", "Release")]
    assert shop.status()["pauses"] == paused["pauses"]
    assert shop.claim(code=11)["not_eligible"] == [
        {"reason": "not_ready", "nodes": 1},
        {"reason": "paused", "nodes": 1},
    ]
    assert shop("pause", "--group", "shop", "--until", "2100-01-01T00:00:00Z")["changed"] is True
    assert shop.claim(code=10)["decisions"] == []
    assert shop("resume", "--group", "shop")["pauses"] == []
    assert shop.lease()


LIMITS: list[tuple[Json, str]] = [
    ({"agent_slots": 0}, "agent_slots(0/0)"),
    ({"groups": {"shop": {"quota": 0}}}, "never_fits(2 slots, limit 0)"),
    ({"slots": 1}, "never_fits(2 slots, limit 1)"),
    ({"resources": {"api": {"capacity": 1}}}, "resource_busy(api, 0/1)"),
]


@pytest.mark.parametrize(("policy", "reason"), LIMITS, ids=lambda each: each if isinstance(each, str) else "")
def test_a_limit_that_lets_nothing_start_waits_for_a_person(tmp_path: Path, policy: Json, reason: str) -> None:
    shop = Shop(tmp_path)
    graph = tmp_path / ".metagit/tasks/graphs/shop.json"
    document = json.loads(graph.read_text())
    for row in document["nodes"]:
        row |= {"slots": 2, "uses": {"api": 2}}
    graph.write_text(json.dumps(document))
    shop.set_policy(**policy)
    assert shop.claim(code=11)["decisions"] == []
    (needed,) = shop.status()["needs_person"]
    assert needed["reason"] == reason
    assert shop(*shlex.split(needed["command"])[1:], "--operator", "ada")["changed"] is True
    assert shop.lease()


# --- waiting and watching --------------------------------------------------------------------------------------------


def test_a_command_waits_for_what_another_process_sets_going(shop: Shop) -> None:
    lease_id = shop.lease()
    with shop.piped("schedule", "next", "--claim", "--agent-id", "b", "--wait-seconds", "60", "--json") as waiting:
        shop.report(lease_id, "completed")
        out, err = waiting.communicate(timeout=WAIT_S)
    (made,) = json.loads(out)["decisions"]
    assert (waiting.returncode, err, made["lease"]["agent_id"]) == (0, "", "b")


def test_an_interrupt_ends_the_wait(shop: Shop) -> None:
    shop.lease()
    with Terminal("real", "schedule", "next", "--agent-id", "b", "--wait-seconds", "60", *shop.flags) as terminal:
        terminal.until("Waits up to 60 seconds if there is no work; Ctrl-C ends it.")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.rest()[0] == 130


def until(stream: IO[str] | None, word: str) -> str:
    """The first line with a word; the writer's end, which is bounded by the test's own limit, ends it too."""
    assert stream is not None
    return next(line for line in stream if word in line)


def test_watch_shows_what_other_processes_do_until_it_is_interrupted(shop: Shop) -> None:
    with shop.piped("watch") as watching:
        until(watching.stdout, "next step:")
        lease_id = shop.lease()
        assert until(watching.stdout, "work_started").endswith(f" shop/design-it work_started a {lease_id}\n")
        shop.report(lease_id, "completed")
        assert until(watching.stdout, "work_completed").endswith(f" shop/design-it work_completed a {lease_id}\n")
        shop("task", "update", "build-it", "--status", "cancelled")
        assert until(watching.stdout, "file_status").endswith(" shop/build-it file_status cancelled\n")
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=WAIT_S)
    assert (watching.returncode, out, err) == (130, "", "\n")


def test_watch_ends_when_nobody_reads_any_more(shop: Shop) -> None:
    with shop.piped("watch") as watching:
        until(watching.stdout, "next step:")
        assert watching.stdout is not None
        watching.stdout.close()
        shop("pause")
        assert watching.wait(WAIT_S) == 0


def test_a_watched_status_is_shown_again_when_something_changed_until_it_is_interrupted(shop: Shop) -> None:
    with shop.piped("schedule", "status", "--watch") as watching:
        until(watching.stdout, "1 ready, 1 runnable now.")
        until(watching.stdout, "next step:")
        shop.lease()
        assert until(watching.stdout, " ready, ") == "0 ready, 0 runnable now. Not eligible: leased 1, not_ready 1.\n"
        until(watching.stdout, "next step:")
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=WAIT_S)
    assert (watching.returncode, out, err) == (0, "", "")


def test_a_watched_status_is_shown_in_place_on_a_terminal(shop: Shop) -> None:
    top, rest, below = "\x1b[H", "\x1b[K", "\x1b[J"
    with Terminal("real", "schedule", "status", "--watch", *shop.flags) as terminal:
        terminal.until(below)
        shop.lease()
        # All of what is looked for below: an interrupt ends it in the middle of a screen.
        terminal.until(f"leased 1, not_ready 1.{rest}\r\n")
        terminal.process.send_signal(signal.SIGINT)
        code, shown = terminal.rest()
    first, second = shown.split(top)[1:]
    assert code == 0
    assert f"1 ready, 1 runnable now. Not eligible: not_ready 1.{rest}\n" in first
    assert f"0 ready, 0 runnable now. Not eligible: leased 1, not_ready 1.{rest}\n" in second
    assert first.endswith(f"{rest}\n{below}")


def test_a_watched_status_ends_when_nobody_reads_any_more(shop: Shop) -> None:
    with shop.piped("schedule", "status", "--watch") as watching:
        until(watching.stdout, "next step:")
        assert watching.stdout is not None
        watching.stdout.close()
        shop("pause")
        assert watching.wait(WAIT_S) == 0
