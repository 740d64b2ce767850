"""Whole turns of Claude Code with our plugin and a model that a script plays: what hooks and server do at run time.

Must not know: how a hook words its text, beyond the ids in it. What happened is read in the ledger.
"""

from __future__ import annotations

import re
import shlex
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.hosts.client import Client, Home
from tests.hosts.conftest import PLUGIN, ROOT
from tests.hosts.fake_anthropic import Asked, FakeAnthropic, fake_anthropic
from tests.hosts.fake_model import Use
from tests.hosts.talk import LONGEST_S, Talk
from tests.hosts.turns import LEASE, ended, folder_of_workspace, leases, ledger, work
from tests.interfaces.mcp.live import until
from tests.interop.peer import host

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.hosts.client import Conversation
    from tests.hosts.fake_model import Reply

pytestmark = pytest.mark.hosts

OURS = "mcp__plugin_metagit_sched__"
NEXT, REPORT = f"{OURS}metagit_schedule_next", f"{OURS}metagit_work_report"
ALLOWED = ("--allowedTools", f"{OURS}*")
CLAIM = Use(NEXT, {"claim": True})
QUIET = {"outcome": "success", "exit_code": 0, "stdout": "", "stderr": ""}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    """Claude Code with our plugin, in a home that all tests share but one: what it keeps, it keeps by session."""
    home = Home(tmp_path_factory.mktemp("host") / "home")
    client = Client(host("claude"), home.environ)
    for words in (["marketplace", "add", str(ROOT)], ["install", PLUGIN]):
        client.said("plugin", *words, cwd=home.path)
    return client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of_workspace(tmp_path)


def started(model: FakeAnthropic, client: Client, *words: str, cwd: Path, **variables: str) -> Talk:
    return Talk(client, *words, cwd=cwd, **model.environment(), **variables)


def calls(spoken: Conversation) -> list[dict[str, Any]]:
    """The arguments of each call of a tool, in order."""
    return [frame["params"]["arguments"] for frame in spoken.frames("host") if frame.get("method") == "tools/call"]


def revision_of(spoken: Conversation) -> str:
    """The revision of the protocol that host and server agreed on."""
    if "initialize" in spoken.asked():
        return str(spoken.answer("initialize")["protocolVersion"])
    first = spoken.frames("host")[0]["params"]["_meta"]
    return str(first["io.modelcontextprotocol/protocolVersion"])


def completed(lease: str) -> Use:
    return Use(REPORT, {"lease_id": lease, "state": "completed"})


def handed_over(asked: Asked) -> list[str]:
    """What the Stop hook told the model, in order."""
    return re.findall(r"Stop hook additional context: (.*)", asked.said)


def works(asked: Asked) -> Reply:
    return work(asked, len(handed_over(asked)), CLAIM, completed)


# --- Who is who ----------------------------------------------------------------------------------


# A server that answers late, on a machine with much to do, is spoken to as an older one.
@pytest.mark.parametrize(
    ("refused", "revisions"),
    [("-", {"2026-07-28", "2025-11-25"}), ("server/discover", {"2025-11-25"})],
    ids=["any protocol", "the old protocol"],
)
def test_a_session_and_its_sub_agent_are_two_agents(
    claude_with_plugin: Client, home: Home, folder: Path, refused: str, revisions: set[str]
) -> None:
    def script(asked: Asked) -> Reply:
        if "HELPER" in asked.said:
            return "helped" if asked.results else CLAIM
        match len(asked.results):
            case 0:
                return CLAIM
            case 1:
                return Use("Agent", {"description": "help", "prompt": "HELPER", "run_in_background": False})
            case 2:
                return completed(leases(folder)[1][2])
            case _:
                return "done"

    spoken = home.listen_in(refused)
    with fake_anthropic(script) as model, started(model, claude_with_plugin, *ALLOWED, cwd=folder) as talk:
        turn = talk.say("begin")
        talk.end()

    (own, first, lease), (helper, second, other) = leases(folder)
    assert own == turn["session_id"]
    assert re.fullmatch(rf"{own}/[0-9a-z]+", helper)
    assert first != second
    # All over one connection, and none of them named itself.
    assert revision_of(spoken) in revisions
    assert [call["agent_id"] for call in calls(spoken)] == [own, helper, own]
    assert [use.arguments for use in model.asked[-1].used if use.name == NEXT] == [CLAIM.arguments]
    answer = model.asked[-1].results[-1]
    assert (answer.is_error, answer.json()["code"]) == (True, "AUTH_FORBIDDEN")
    assert turn["result"] == "done"
    assert ended(folder, "work_completed") == []
    # It came to a good end, so nobody holds them any more.
    until(lambda: sorted(ended(folder, "work_released")) == sorted([lease, other]))


def test_a_shell_speaks_for_its_session_and_a_session_begun_in_it_for_itself(client: Client, folder: Path) -> None:
    nested = ("-p", "NESTED", *ALLOWED)

    def script(asked: Asked) -> Reply:
        if "NESTED" in asked.said:
            return "done" if asked.results else CLAIM
        match len(asked.results):
            case 0:
                return Use("Bash", {"command": "metagit-mcp schedule next --claim --json"})
            case 1:
                return Use("Bash", {"command": shlex.join([str(client.program), *nested])})
            case _:
                return "done"

    with (
        fake_anthropic(script) as model,
        started(model, client, "--allowedTools", "Bash", cwd=folder) as talk,
    ):
        turn = talk.say("begin")

    (own, first, _), (other, second, _) = leases(folder)
    assert own == turn["session_id"]
    assert re.fullmatch(r"[0-9a-f-]{36}", other)
    assert (other != own, first != second) == (True, True)


def test_the_stamp_grants_nothing(client: Client, folder: Path) -> None:
    def script(asked: Asked) -> Reply:
        return "done" if asked.results else CLAIM

    with fake_anthropic(script) as model, started(model, client, cwd=folder) as talk:
        turn = talk.say("begin")

    # What would have been asked for, were a person there: the call with its stamp.
    (denied,) = turn["permission_denials"]
    assert denied["tool_input"] == {**CLAIM.arguments, "agent_id": turn["session_id"]}
    assert model.asked[-1].results[-1].is_error
    assert not ledger(folder).exists()


# --- What it is told when it begins --------------------------------------------------------------


def test_a_session_is_told_what_it_holds_again(client: Client, folder: Path) -> None:
    replies: Iterator[Reply] = iter([CLAIM, "done", "<summary>so far</summary>", "done", CLAIM, "done"])

    with fake_anthropic(lambda _: next(replies)) as model:
        with started(model, client, *ALLOWED, cwd=folder) as talk:
            talk.say("begin")
            talk.say("/compact")
            session = talk.say("go on")["session_id"]
            after_compaction = model.asked[-1]
            talk.kill()
        with started(model, client, *ALLOWED, "--resume", session, cwd=folder) as talk:
            talk.say("begin")

    (_, _, lease), *more = leases(folder)
    assert more == []
    assert LEASE.findall(model.asked[0].said) == []
    assert (after_compaction.results, LEASE.findall(after_compaction.said)) == ([], [lease])
    # Before it asks; and when it asks it is given the same.
    before, after = model.asked[-2:]
    assert [LEASE.findall(hook["stdout"]) for hook in talk.hooks("SessionStart")] == [[lease]]
    assert lease in before.said
    assert [held["lease_id"] for held in after.results[-1].json()["held"]] == [lease]


def test_a_session_elsewhere_hears_nothing(client: Client, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()

    with (
        fake_anthropic(lambda _: "done") as model,
        started(model, client, cwd=folder, METAGIT_WORKER_MODE="1") as talk,
    ):
        turn = talk.say("begin")
        talk.end()

    assert (turn["is_error"], turn["result"]) == (False, "done")
    assert [talk.hooks(event) for event in ("SessionStart", "Stop")] == [[QUIET], [QUIET]]
    assert re.findall("SessionStart hook|Stop hook", model.asked[-1].said) == []
    assert list(folder.iterdir()) == []


# --- What it is told when it would stop ----------------------------------------------------------


def test_a_worker_is_told_of_the_next_node_once_for_each_that_it_finished(client: Client, folder: Path) -> None:
    option = '{"pluginConfigs": {"metagit@metagit": {"options": {"worker_mode": true}}}}'

    with (
        fake_anthropic(works) as model,
        started(model, client, *ALLOWED, "--settings", option, cwd=folder) as talk,
    ):
        turn = talk.say("begin")

    agents, nodes, own = zip(*leases(folder), strict=True)
    assert (set(agents), len(set(nodes))) == ({turn["session_id"]}, 3)
    assert ended(folder, "work_completed") == list(own)
    told = handed_over(model.asked[-1])
    assert [LEASE.findall(text) for text in told] == [[own[0]], [own[1]]]
    assert [node in text for node, text in zip(nodes[1:], told, strict=True)] == [True, True]
    # For each node a claim, a report and a word at its end.
    assert len(model.asked) == 3 * 3
    assert turn["result"] == "done"


def test_a_worker_that_does_not_go_on_is_left_alone(client: Client, folder: Path) -> None:
    def script(asked: Asked) -> Reply:
        match len(asked.results):
            case 0:
                return CLAIM
            case 1:
                return completed(leases(folder)[0][2])
            case _:
                return "no"

    with (
        fake_anthropic(script) as model,
        started(model, client, *ALLOWED, cwd=folder, METAGIT_WORKER_MODE="1") as talk,
    ):
        turns = [talk.say("begin"), talk.say("begin")]

    ((_, _, lease),) = leases(folder)
    assert [LEASE.findall(text) for text in handed_over(model.asked[-1])] == [[lease]]
    # A claim, a report, and "no" twice; then once more in another turn.
    assert len(model.asked) == 5
    assert [turn["result"] for turn in turns] == ["no", "no"]


def test_a_sub_agent_works_on_too(client: Client, folder: Path) -> None:
    def script(asked: Asked) -> Reply:
        if "HELPER" in asked.said:
            return works(asked)
        return "done" if asked.results else Use("Agent", {"description": "help", "prompt": "HELPER"})

    with (
        fake_anthropic(script) as model,
        started(model, client, *ALLOWED, cwd=folder, METAGIT_WORKER_MODE="1") as talk,
    ):
        session = talk.say("begin")["session_id"]
        # It works in the background, which the end waits for.
        talk.end()

    agents, nodes, own = zip(*leases(folder), strict=True)
    assert (len(set(agents)), len(set(nodes))) == (1, 3)
    assert agents[0].startswith(f"{session}/")
    assert ended(folder, "work_completed") == list(own)
    assert [asked for asked in model.asked if "HELPER" not in asked.said and handed_over(asked)] == []


def test_a_worker_that_a_person_stops_is_told_nothing(client: Client, folder: Path) -> None:
    thinks, is_over = threading.Event(), threading.Event()

    def script(asked: Asked) -> Reply:
        match len(asked.results):
            case 0:
                return CLAIM
            case 1:
                return completed(leases(folder)[0][2])
            case _:
                thinks.set()
                assert is_over.wait(LONGEST_S)
                return "done"

    with (
        fake_anthropic(script) as model,
        started(model, client, *ALLOWED, cwd=folder, METAGIT_WORKER_MODE="1") as talk,
    ):
        talk.begin("begin")
        assert thinks.wait(LONGEST_S)
        talk.interrupt()
        turn = talk.outcome()
        is_over.set()

    assert (turn["is_error"], talk.hooks("Stop"), len(model.asked)) == (True, [], 3)


def test_without_worker_mode_a_turn_ends_where_it_ends(client: Client, folder: Path) -> None:
    with fake_anthropic(works) as model, started(model, client, *ALLOWED, cwd=folder) as talk:
        turn = talk.say("begin")

    assert talk.hooks("Stop") == [QUIET]
    assert (len(leases(folder)), len(model.asked)) == (1, 3)
    assert turn["result"] == "done"
