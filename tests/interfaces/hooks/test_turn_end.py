"""A worker goes on when its turn ends: each fact is told once, and no turn goes round in circles."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.interfaces.hooks.memory import Memory, state_folder
from tests.interfaces.hooks.documented import HOSTS, SESSION, assert_documented, given
from tests.interfaces.hooks.fixtures import answer

if TYPE_CHECKING:
    from tests.interfaces.hooks.fixtures import Workshop

WORKER = {"METAGIT_WORKER_MODE": "1"}
TASK = {"id": "task-001", "type": "shell", "status": "running"}
TWICE = (0, 1)


def text_of(record: dict[str, Any] | None) -> str | None:
    if not record:
        return None
    told = record.get("followup_message") or record.get("reason") or record["hookSpecificOutput"]["additionalContext"]
    return str(told)


def stop(
    workshop: Workshop, host: str = "claude", environ: dict[str, str] | None = None, **changes: object
) -> str | None:
    said = workshop.ask(host, "stop", WORKER if environ is None else environ, **changes)
    assert_documented(host, "stop", said.record)
    assert (said.complaint, said.feedback) == ("", "")
    return text_of(said.record)


def finished(workshop: Workshop, agent_id: str = SESSION, state: str = "completed") -> str:
    """Have an agent take a node and report on it; return the lease that ended."""
    lease = workshop.desk.lease(agent_id)
    workshop.desk.report(lease, state, note="so")
    return lease


def active_text(lease: str, node_id: str) -> str:
    return (
        f"metagit: lease {lease} on node {node_id} of graph shop is still active, and how the work stands is not "
        f"known. Go on with it, or report with metagit_work_report (lease_id {lease}): completed, checkpointed, "
        "paused, blocked, failed or released."
    )


def next_text(workshop: Workshop, lease: str, agent_id: str = SESSION) -> str:
    (made,) = workshop.desk.next(preview=True, agent_id=agent_id)["decisions"]
    why = ", ".join(made["reasons"][:5])
    return (
        f"metagit: lease {lease} is reported. Next for this agent: node {made['node_id']} of graph {made['graph_id']} "
        f"(score {made['score']:g}; {why}). Take it with metagit_schedule_next and claim true."
    )


# --- what is told -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
def test_a_lease_that_is_still_active_is_named_once(host: str, workshop: Workshop) -> None:
    lease = workshop.desk.lease(SESSION)
    assert [stop(workshop, host, stop_hook_active=bool(_)) for _ in TWICE] == [active_text(lease, "api"), None]


@pytest.mark.parametrize("host", HOSTS)
def test_after_a_report_the_next_node_is_named_once(host: str, workshop: Workshop) -> None:
    lease = finished(workshop)
    told = next_text(workshop, lease)
    assert "node page of graph shop" in told
    assert [stop(workshop, host, stop_hook_active=bool(_)) for _ in TWICE] == [told, None]
    # It was not taken: nothing is told until another lease was finished, however often the turn ends.
    assert [stop(workshop, host) for _ in range(3)] == [None] * 3
    again = finished(workshop)
    assert stop(workshop, host) == next_text(workshop, again)


def test_each_host_hears_it_in_its_own_words(workshop: Workshop) -> None:
    text = active_text(workshop.desk.lease(SESSION), "api")
    kept = {host: {**WORKER, "XDG_STATE_HOME": f"{workshop.state}/{host}"} for host in HOSTS}
    answers = {host: workshop.ask(host, "stop", environ) for host, environ in kept.items()}
    assert {host: said.record for host, said in answers.items()} == {
        "claude": {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": text}},
        "codex": {"decision": "block", "reason": text},
        "cursor": {"followup_message": text},
    }


def test_a_sub_agent_hears_of_its_own_lease(workshop: Workshop) -> None:
    own = workshop.desk.lease(f"{SESSION}/a0f")
    workshop.desk.lease(SESSION)
    itself = {"id": "a0f", "type": "subagent", "status": "running"}
    sub: Any = {"hook_event_name": "SubagentStop", "agent_id": "a0f", "agent_type": "general-purpose"}
    assert stop(workshop, **sub, background_tasks=[itself, TASK]) is None
    said = workshop.ask("claude", "stop", WORKER, **sub, background_tasks=[itself])
    assert said.record == {
        "hookSpecificOutput": {"hookEventName": "SubagentStop", "additionalContext": active_text(own, "api")}
    }
    # Compaction ends a sub-agent that nobody has seen.
    assert stop(workshop, hook_event_name="SubagentStop", agent_id="a99", agent_type="") is None


def test_several_active_leases_are_told_together(workshop: Workshop) -> None:
    workshop.desk.put("schedule/policy.json", {"agent_slots": 2})
    both = {workshop.desk.lease(SESSION), workshop.desk.lease(SESSION)}
    told = stop(workshop) or ""
    # They began at the same instant; which one comes first, their ids decide.
    assert any(f"lease {each} " in told for each in both)
    assert "1 more of this agent's leases are active too." in told
    assert stop(workshop) is None


# --- what is not told -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["", "0", "false", "off", "no", "${user_config.worker_mode}"])
def test_without_worker_mode_nothing_is_said(mode: str, workshop: Workshop) -> None:
    workshop.desk.lease(SESSION)
    environ = {"METAGIT_WORKER_MODE": mode, "CLAUDE_PLUGIN_OPTION_WORKER_MODE": mode}
    assert stop(workshop, environ=environ) is None
    assert not workshop.state.exists()


@pytest.mark.parametrize("mode", ["1", "true", "YES", "on "])
@pytest.mark.parametrize("name", ["METAGIT_WORKER_MODE", "CLAUDE_PLUGIN_OPTION_WORKER_MODE"])
def test_worker_mode_is_switched_on_by_either_name(name: str, mode: str, workshop: Workshop) -> None:
    lease = workshop.desk.lease(SESSION)
    assert stop(workshop, environ={name: mode}) == active_text(lease, "api")


@pytest.mark.parametrize(
    "changes",
    [
        {"background_tasks": [TASK]},
        {"session_crons": [{"id": "cron-001", "schedule": "0 9 * * 1-5", "recurring": True, "prompt": "look"}]},
        {"background_tasks": "something"},
        {"background_tasks": [7], "agent_id": "a0f"},
        {"permission_mode": "plan"},
        {"session_id": None},
        {"session_id": "another"},
    ],
)
def test_a_session_that_waits_or_is_another_is_left_alone(changes: dict[str, Any], workshop: Workshop) -> None:
    workshop.desk.lease(SESSION)
    assert stop(workshop, **changes) is None


@pytest.mark.parametrize(
    "changes",
    [{"status": "aborted"}, {"status": "error"}, {"status": None}, {"hook_event_name": "subagentStop"}],
)
def test_what_a_person_interrupted_stays_so(changes: dict[str, Any], workshop: Workshop) -> None:
    workshop.desk.lease(SESSION)
    assert stop(workshop, "cursor", **changes) is None


def test_an_agent_that_never_worked_hears_nothing(workshop: Workshop) -> None:
    finished(workshop, "another")
    assert stop(workshop) is None


@pytest.mark.parametrize("end", ["released by a person", "expired"])
def test_a_lease_that_somebody_else_ended_hands_nothing_over(end: str, workshop: Workshop) -> None:
    finished(workshop)
    workshop.desk.lease(SESSION)
    if end == "expired":
        workshop.desk.wait(100_000)
        workshop.desk.look_after()
    else:
        workshop.desk.release("page", note="mine")
    assert stop(workshop) is None


def test_where_nothing_is_runnable_nothing_is_told(workshop: Workshop) -> None:
    finished(workshop)
    workshop.desk.pause("workspace")
    assert stop(workshop) is None
    # It was not told, so it may be as soon as there is something.
    workshop.desk.resume("workspace")
    assert stop(workshop) is not None


@pytest.mark.parametrize("state", ["completed", "failed", "blocked", "released", "paused"])
def test_every_report_that_ends_a_lease_hands_over(state: str, workshop: Workshop) -> None:
    lease = finished(workshop, state=state)
    assert stop(workshop) == next_text(workshop, lease)


# --- what is kept -----------------------------------------------------------------------------------------------------


def kept(workshop: Workshop) -> list[Path]:
    return sorted((workshop.state / "metagit-mcp/hooks").iterdir())


def test_what_was_told_is_kept_outside_the_workspace(workshop: Workshop, tmp_path: Path) -> None:
    before = {path.name for path in (workshop.root / ".metagit").rglob("*")}
    lease = workshop.desk.lease(SESSION)
    before |= {path.name for path in (workshop.root / ".metagit").rglob("*")}
    stop(workshop)
    (file,) = kept(workshop)
    assert file.read_text() == f'{{"told": "active:{lease}", "nodes": []}}'
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert {path.name for path in (workshop.root / ".metagit").rglob("*")} == before
    # A plugin has a folder of its own.
    data = tmp_path / "data"
    assert stop(workshop, environ={**WORKER, "CLAUDE_PLUGIN_DATA": str(data)}) is not None
    assert [path.name for path in (data / "hooks").iterdir()] == [file.name]


def test_each_session_is_told_for_itself(workshop: Workshop) -> None:
    environ = {**WORKER, "METAGIT_AGENT_ID": "ada"}
    lease = workshop.desk.lease("ada")
    told = [stop(workshop, environ=environ, session_id=session) for session in ("one", "one", "two")]
    assert told == [active_text(lease, "api"), None, active_text(lease, "api")]
    assert len(kept(workshop)) == 2


def test_what_cannot_be_kept_is_not_told(workshop: Workshop) -> None:
    workshop.desk.lease(SESSION)
    workshop.state.write_text("a file where the folder should be")
    assert [stop(workshop) for _ in TWICE] == [None, None]


def test_of_hooks_that_run_at_once_one_tells(tmp_path: Path) -> None:
    together = 6
    barrier = Barrier(together)
    memory = Memory.of("ada", SESSION, {"XDG_STATE_HOME": str(tmp_path)})

    def told(lease: int) -> bool:
        barrier.wait(timeout=10)
        return memory.note(f"active:L-{lease}")

    with ThreadPoolExecutor(together) as pool:
        for lease in range(50):
            assert sum(pool.map(told, [lease] * together)) == 1


NOWHERE = {"XDG_STATE_HOME": "", "HOME": ""}


@pytest.mark.parametrize("folder", ["state", "./state", "../state", "~/state", "${HOME}/state", ""])
@pytest.mark.parametrize("name", ["CLAUDE_PLUGIN_DATA", "PLUGIN_DATA", "XDG_STATE_HOME", "HOME"])
def test_a_place_that_begins_nowhere_is_no_place(
    name: str, folder: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workshop.root)
    workshop.desk.lease(SESSION)
    before = sorted(workshop.root.parent.rglob("*"))
    assert state_folder({**NOWHERE, name: folder}) == ""
    assert stop(workshop, environ={**WORKER, **NOWHERE, name: folder}) is None
    assert sorted(workshop.root.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"CLAUDE_PLUGIN_DATA": "/data", "XDG_STATE_HOME": "/state", "HOME": "/home/a"}, "/data/hooks"),
        ({"CLAUDE_PLUGIN_DATA": "data", "PLUGIN_DATA": "/data"}, "/data/hooks"),
        ({"PLUGIN_DATA": "data", "XDG_STATE_HOME": "/state"}, "/state/metagit-mcp/hooks"),
        ({"XDG_STATE_HOME": "state", "HOME": "/home/a"}, "/home/a/.local/state/metagit-mcp/hooks"),
        ({}, str(Path("~/.local/state/metagit-mcp/hooks").expanduser())),
    ],
)
def test_the_first_whole_path_is_where_it_is_kept(environ: dict[str, str], folder: str) -> None:
    assert state_folder(environ) == folder


@pytest.mark.parametrize("there", ["", "{", "[]", '{"told": 7, "nodes": 3}', "\0" * 70_000, "[" * 20_000])
def test_what_is_garbled_is_written_anew(there: str, workshop: Workshop) -> None:
    lease = workshop.desk.lease(SESSION)
    stop(workshop)
    (file,) = kept(workshop)
    file.write_text(there)
    assert [stop(workshop) for _ in TWICE] == [active_text(lease, "api"), None]


def test_a_link_in_its_place_is_not_followed(workshop: Workshop, tmp_path: Path) -> None:
    workshop.desk.lease(SESSION)
    stop(workshop)
    (file,) = kept(workshop)
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    assert stop(workshop) is None
    assert not (tmp_path / "elsewhere").exists()


def test_what_is_a_month_old_is_forgotten(workshop: Workshop) -> None:
    workshop.desk.lease(SESSION)
    stop(workshop)
    (file,) = kept(workshop)
    old, new, other = (file.with_name(name) for name in ("told-old.json", "told-new.json", "notes.json"))
    for each in (old, new, other):
        each.write_text("{}")
    for each in (old, other):
        os.utime(each, (0, 0))
    finished(workshop, f"{SESSION}/sub")
    stop(workshop, agent_id="sub")
    assert [each.exists() for each in (old, new, other)] == [False, True, True]


# --- a teammate -------------------------------------------------------------------------------------------------------


def idle(workshop: Workshop, environ: dict[str, str] | None = None, **changes: object) -> str:
    said = workshop.ask("claude", "teammate-idle", WORKER if environ is None else environ, **changes)
    assert said.record is None
    return said.feedback


def test_a_teammate_hears_of_the_next_node_once(workshop: Workshop) -> None:
    lease = finished(workshop)
    assert [idle(workshop) for _ in TWICE] == [next_text(workshop, lease), ""]


def test_a_node_that_was_named_to_a_teammate_is_not_named_again(workshop: Workshop) -> None:
    first = finished(workshop)
    assert idle(workshop) == next_text(workshop, first)
    # It took another one; what it left is still the next.
    other = workshop.desk.start("mail", SESSION)["lease"]["lease_id"]
    workshop.desk.report(other, "completed")
    assert "node page of" in next_text(workshop, other)
    assert idle(workshop) == ""


def test_a_teammate_that_holds_work_or_never_did_goes_idle(workshop: Workshop) -> None:
    assert idle(workshop) == ""
    workshop.desk.lease(SESSION)
    assert idle(workshop) == ""
    assert idle(workshop, environ={}) == ""
    assert idle(workshop, session_id=None) == ""


def test_a_teammate_is_kept_from_idling_by_the_exit_code(workshop: Workshop) -> None:
    lease = finished(workshop)
    ran = workshop.run("claude", "teammate-idle", WORKER)
    assert (ran.code, ran.out, ran.err) == (2, "", f"{next_text(workshop, lease)}\n")
    again = workshop.run("claude", "teammate-idle", WORKER)
    assert (again.code, again.out, again.err) == (0, "", "")


@pytest.mark.parametrize("host", ["codex", "cursor"])
def test_other_hosts_have_no_teammates(host: str, workshop: Workshop) -> None:
    finished(workshop)
    said = answer(host, "teammate-idle", given("claude", "teammate-idle"), {**workshop.environ, **WORKER})
    assert (said.feedback, said.record) == ("", {} if host == "cursor" else None)
