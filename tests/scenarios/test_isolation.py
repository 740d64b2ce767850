"""What is told about one Group says nothing of another one, whatever that one does (work.md §4, §7; ADR 0032).

Every text of the other Group has a word in it. The word stands in the overview, which is the workspace's own view, and
in nothing that is told under a lease of the one Group or to who asks for it by name.
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pytest

from metagit_mcp.domain.outbox import action_id
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.wire.codec import plain
from tests.groups.offered import CAPABLE, deliver, offering
from tests.interfaces.cli.fake_runs import ROOT, environment
from tests.interfaces.mcp.raw_wire import MODERN, RawServer
from tests.scenarios.at_once import finished
from tests.scenarios.planted import (
    CLOCK,
    FED,
    FILED,
    IN_THE_WAY,
    NODES,
    OWN,
    POLICY,
    SECOND,
    TEXTS,
    WORD,
    estimated,
    named,
    planted_log,
    spoken,
    try_to,
    workspace,
)
from tests.scenarios.surfaces import Server
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.unit.application.desk import Desk, Json

ONE: Final = "one"
ONE_FED: Final = "group:cli"
# What the one Group's nodes need is what the other one may hold.
WANTING: Final[dict[str, Json]] = {
    "free": {"priority": 9},
    "keyed": {"exclusive": ["lock"]},
    "touching": {"touches": ["src/*", "docs/*"], "repository": "p/api"},
    "api": {"uses": {"api": 2}},
    "mail": {"uses": {"mail": 1}},
    "broad": {"slots": 2},
    "last": {"depends_on": ["free"]},
}
POINT: Final = {"checkpoint_id": "point", "note": "half of it"}
GIVEN_BACK: Final = ("running", "checkpointed", "paused", "released")


def with_one(desk: Desk) -> Desk:
    desk.graph(ONE, *(node(name, **fields) for name, fields in WANTING.items()))
    return desk


# --- everything that is told about a Group ---------------------------------------------------------------------------


def looks(desk: Desk, graph_id: str, names: list[str]) -> Iterator[tuple[str, Callable[[], Json]]]:
    """The questions about one Group that change nothing."""
    yield "next", lambda: desk.next(graph_id=graph_id, agent_id=OWN, limit=20, preview=True, detail="full")
    yield "advice", lambda: desk.next(graph_id=graph_id, agent_id=SECOND, capabilities=CAPABLE)
    yield "status", lambda: desk.status(graph_id=graph_id, detail="full", recent=100)
    for name in (None, *names):
        yield f"estimate {name}", partial(estimated, desk, graph_id, name)
    for name in names:
        yield f"explain {name}", partial(desk.status, graph_id=graph_id, node_id=name, detail="full")


def acts(desk: Desk, graph_id: str, names: list[str]) -> Iterator[tuple[str, Callable[[], Json]]]:
    """The commands about one Group, allowed or refused: of each lease that they lead to everything is said."""
    yield "claim", lambda: desk.claim(OWN, graph_id=graph_id, limit=2, capabilities=CAPABLE)
    yield "claim again", lambda: desk.claim(OWN, graph_id=graph_id, wait_seconds=1)
    for name in names:
        yield f"own {name}", partial(desk.start, name, SECOND, graph_id=graph_id, queue_only=True)
        yield f"start {name}", partial(desk.start, name, OWN, graph_id=graph_id)
    yield "no such node", lambda: desk.start("nothing", OWN, graph_id=graph_id)


def reports(desk: Desk, lease_id: str) -> Iterator[tuple[str, Callable[[], Json]]]:
    """What can be said under a lease, and after it: the last one is too late."""
    for state in GIVEN_BACK:
        yield state, partial(desk.report, lease_id, state, checkpoint=POINT, usage={"tokens": 5})
    yield "another agent", lambda: desk.report(lease_id, "running", agent_id="somebody")
    yield "too late", lambda: desk.report(lease_id, "completed", note="done after all")


def told(desk: Desk, graph_id: str, names: list[str], lease_id: str) -> dict[str, Json]:
    """All that is told about one Group: to who asks, to who commands, and under the lease."""
    answers = {name: try_to(act) for name, act in looks(desk, graph_id, names)}
    answers |= {name: try_to(act) for name, act in acts(desk, graph_id, names)}
    answers |= {f"{name} after": try_to(act) for name, act in looks(desk, graph_id, names)}
    return answers | {f"report {name}": try_to(act) for name, act in reports(desk, lease_id)}


def naming(answers: dict[str, Any]) -> list[str]:
    """The answers with the word in them."""
    return [name for name, answer in answers.items() if WORD in json.dumps(answer, ensure_ascii=False).lower()]


# --- the word is in nothing that is told -----------------------------------------------------------------------------


def test_the_word_stands_in_every_text_of_a_node() -> None:
    texts = {name for each in ({}, TEXTS, *NODES.values()) for name in each}
    neither = {
        *("node_id", "context_budget", "estimated_tokens", "estimated_runtime_seconds", "preemptible", "updated_at")
    }
    assert {each.name for each in fields(TaskNode)} - texts - neither == set()


@pytest.mark.parametrize("way", IN_THE_WAY)
def test_nothing_that_is_told_about_a_task_graph_names_another_group(tmp_path: Path, way: str) -> None:
    desk = with_one(workspace(tmp_path / "ws"))
    lease_id = desk.start("free", OWN, graph_id=ONE)["lease"]["lease_id"]
    IN_THE_WAY[way](desk)
    desk.wait(400)
    assert naming({"overview": desk.status()}) == ["overview"]
    answers = told(desk, ONE, sorted(WANTING), lease_id)
    assert naming(answers) == []
    # Another process, which has read nothing yet.
    assert naming(told(desk.beside(), ONE, sorted(WANTING), lease_id)) == []


BARE: Final = {
    "what it holds": {
        "keyed": ["exclusive(lock)"],
        "touching": ["conflicts_with"],
        "api": ["resource_busy(api, capacity 3)"],
        "mail": ["resource_closed(mail)"],
    },
    "no slot": {
        "keyed": ["exclusive(lock)", "no_slot(limit 3)"],
        "api": ["no_slot(limit 3)"],
        "broad": ["no_slot(limit 3)"],
    },
    "kept slots": {"mail": ["reserved"], "keyed": ["exclusive(lock)", "reserved"]},
}


@pytest.mark.parametrize("way", BARE)
def test_that_something_is_in_the_way_is_told_without_who_or_how_much(tmp_path: Path, way: str) -> None:
    desk = with_one(workspace(tmp_path / "ws"))
    desk.start("free", OWN, graph_id=ONE)
    IN_THE_WAY[way](desk)
    for name, reasons in BARE[way].items():
        refused = try_to(partial(desk.start, name, OWN, graph_id=ONE))
        assert refused["details"] == {"graph_id": ONE, "node_id": name, "reason": "capacity", "reasons": reasons}
        assert refused["message"] == f"Node {name} may not be started: {'; '.join(reasons)}."
        explained = desk.status(graph_id=ONE, node_id=name)["explain"]["reasons"]
        assert [each["text"] for each in explained] == reasons
        # The workspace's own view says who, how much and until when.
        overview = desk.status(node_id=name)["explain"]["reasons"]
        assert {each["reason"] for each in overview} == {each["reason"] for each in explained}
        assert not {each["text"] for each in overview} & set(reasons)


def test_what_the_same_group_holds_is_named(tmp_path: Path) -> None:
    desk = workspace(tmp_path / "ws")
    both: Json = {"exclusive": ["lock"], "touches": ["src/*"], "repository": "p/api"}
    desk.graph(ONE, node("first", **both), node("second", **both))
    desk.start("first", OWN, graph_id=ONE)
    reasons = try_to(lambda: desk.start("second", SECOND, graph_id=ONE))["details"]["reasons"]
    assert reasons == ["exclusive(lock, held by first)", "conflicts_with(first, src/)"]


def test_who_has_to_make_room_is_told_that_and_no_more(tmp_path: Path) -> None:
    urgent = {FILED: {"class": "critical"}}
    desk = workspace(tmp_path / "ws", slots=2, groups=urgent, preemption={"min_quantum_seconds": 0})
    desk.graph(ONE, node("long", estimated_tokens=50_000), node("other"))
    lease_id = desk.lease(OWN, graph_id=ONE)
    desk.report(lease_id, "running", usage={"tokens": 50_000})
    desk.wait(1)
    assert desk.taken(SECOND) == []
    assert desk.status()["held"]["graph_id"] == FILED
    answer = desk.report(lease_id, "running")
    assert answer["preempt_requested"]
    assert naming({"report": answer, **told(desk, ONE, ["long", "other"], lease_id)}) == []


def test_a_queue_that_others_filled_is_full_and_nothing_more(tmp_path: Path) -> None:
    desk = with_one(workspace(tmp_path / "ws", queue_capacity=1))
    desk.start(named("narrow"), SECOND, graph_id=FILED, queue_only=True)
    refused = try_to(lambda: desk.start("free", OWN, graph_id=ONE, queue_only=True))
    assert (refused["code"], refused["details"]["reasons"]) == ("CAPACITY_EXCEEDED", ["queue_capacity(limit 1)"])


WRONG_POLICIES: Final = [
    {"groups": {FILED: {"quota": -1}}},
    {"graph_overrides": {FILED: {"priority": -1}}, "groups": {ONE: {"quota": -1}}},
    {"resources": {f"r{number}": {"capacity": -1} for number in range(10)}, "groups": {FILED: {"quota": -1}}},
]


@pytest.mark.parametrize("policy", WRONG_POLICIES)
def test_a_policy_that_is_wrong_about_another_group_is_said_to_be_wrong(tmp_path: Path, policy: Json) -> None:
    desk = with_one(workspace(tmp_path / "ws"))
    lease_id = desk.start("free", OWN, graph_id=ONE)["lease"]["lease_id"]
    desk.put(POLICY, policy)
    answers = told(desk, ONE, ["free", "keyed"], lease_id)
    assert naming(answers) == []
    assert {answers[name]["code"] for name in ("next", "status", "claim", "start free")} == {"POLICY_INVALID"}
    assert naming({"overview": try_to(desk.status)}) == ["overview"]


def test_a_policy_that_is_wrong_about_its_own_group_is_told_in_full(tmp_path: Path) -> None:
    desk = with_one(workspace(tmp_path / "ws"))
    desk.put(POLICY, {"groups": {ONE: {"quota": -1}}})
    refused = try_to(lambda: desk.start("free", OWN, graph_id=ONE))
    assert refused["details"] == {"field": f"groups/{ONE}/quota"}


# --- Groups that are fed by Events -----------------------------------------------------------------------------------


def answered(desk: Desk, action_id: str) -> Json:
    """What is said of a proposal that the Group refused."""
    return plain(finished(desk.application.groups.answer(ONE_FED, action_id, "refused", "no")))


def outside(desk: Desk, log: list[Json]) -> dict[str, Any]:
    """All that the Coordinator of the fed Group is given, and what is refused to it."""
    groups = desk.application.groups
    answers: dict[str, Any] = {
        "again": try_to(lambda: deliver(desk, log, ONE_FED)),
        "gap": try_to(lambda: deliver(desk, [{**log[-1], "sequence": 900}], ONE_FED)),
        "not its own": try_to(lambda: deliver(desk, planted_log()[:1], ONE_FED)),
        "too late": try_to(lambda: deliver(desk, log[3:], ONE_FED, first_sequence=40)),
        "shown": plain(finished(groups.shown(ONE_FED))),
        "outbox": plain(finished(groups.outbox(ONE_FED))),
        "nobody": try_to(lambda: plain(finished(groups.shown("group:nobody")))),
        "answered": try_to(partial(answered, desk, "L-NOTHING:start")),
    }
    for each in finished(groups.outbox(ONE_FED)).proposals:
        answers[each.action_id] = try_to(partial(answered, desk, each.action_id))
    return answers


@pytest.mark.parametrize("way", IN_THE_WAY)
def test_nothing_that_is_told_about_a_fed_group_names_another_one(tmp_path: Path, way: str) -> None:
    desk = workspace(tmp_path / "ws")
    log = offering(ONE_FED, items=3).log
    deliver(desk, log, ONE_FED)
    lease_id = desk.lease(OWN, graph_id=ONE_FED, capabilities=CAPABLE)
    IN_THE_WAY[way](desk)
    names = sorted(desk.application.current.state.items[ONE_FED])
    assert naming(told(desk, ONE_FED, names, lease_id)) == []
    answers = outside(desk, log)
    assert naming({name: each for name, each in answers.items() if name != "not its own"}) == []
    # What it delivered itself is named to it.
    assert (answers["not its own"]["code"], answers["nobody"]["code"]) == ("EVENT_CONFLICT", "GROUP_NOT_FOUND")
    assert {action_id("work.start", lease_id), action_id("work.checkpoint", lease_id)} <= answers.keys()


def test_two_fed_groups_are_told_nothing_of_each_other(tmp_path: Path) -> None:
    desk = workspace(tmp_path / "ws", slots=2)
    log = offering(ONE_FED, items=3).log
    deliver(desk, log, ONE_FED)
    IN_THE_WAY["a log"](desk)
    lease_id = desk.lease(OWN, graph_id=ONE_FED, capabilities=CAPABLE)
    assert desk.taken(f"agent://{WORD}/coder", graph_id=FED, capabilities=CAPABLE) == []
    names = sorted(desk.application.current.state.items[ONE_FED])
    answers = {**told(desk, ONE_FED, names, lease_id), **outside(desk, log)}
    assert naming({name: each for name, each in answers.items() if name != "not its own"}) == []
    assert naming({"overview": desk.status()}) == ["overview"]


# --- the real surfaces -----------------------------------------------------------------------------------------------

# A server that says on standard error whatever it logs.
TALKING: Final = (
    "import logging, runpy, sys\n"
    "logging.basicConfig(level=logging.DEBUG)\n"
    "sys.argv = ['metagit-mcp', *sys.argv[1:]]\n"
    "runpy.run_module('metagit_mcp', run_name='__main__')\n"
)
TOOLSETS: Final = "schedule,work,tasks,groups"


def read(server: Server, uri: str) -> Json:
    """What a resource is answered, be it refused."""
    return server.raw.request("resources/read", {"uri": uri})


def over_the_wire(server: Server, graph_id: str, node_id: str, log: list[Json]) -> dict[str, Any]:
    """Every tool and resource, each asked about one Group; refused or not."""
    one: Json = {"graph_id": graph_id}
    asked: dict[str, tuple[str, Json]] = {
        "next": ("schedule_next", {**one, "limit": 20, "detail": "full", "agent_id": OWN, "capabilities": CAPABLE}),
        "claim": ("schedule_next", {**one, "claim": True, "agent_id": OWN, "capabilities": CAPABLE}),
        "status": ("schedule_status", {**one, "node_id": node_id, "detail": "full", "recent": 100}),
        "start": ("work_start", {**one, "node_id": node_id, "agent_id": OWN}),
        "no node": ("work_start", {**one, "node_id": "nothing"}),
        "update": ("task_update", {**one, "node_id": node_id, "priority": 3}),
        "run": ("task_update", {**one, "node_id": "keyed", "status": "running", "agent_id": OWN}),
        "plan": ("task_plan", {**one, "title": "More", "nodes": [{"title": "One more"}]}),
        "deliver": ("group_deliver", {"group_id": graph_id, "events": log}),
        "estimate": ("group_estimate", {"group_id": graph_id}),
    }
    answers: dict[str, Any] = {
        name: server.outcome(server.begin(tool, **arguments)) for name, (tool, arguments) in asked.items()
    }
    begin = f"metagit://groups/{quote(graph_id, safe='')}"
    for uri in (begin, f"{begin}/outbox", "metagit://groups/nobody", "metagit://nothing"):
        answers[uri] = read(server, uri)
    for listed in ("resources/list", "resources/templates/list", "tools/list", "prompts/list"):
        answers[listed] = server.raw.request(listed, {})
    for _, record in (answers["claim"], answers["start"]):
        for lease in (each["lease"] for each in record.get("decisions", [record]) if "lease" in each):
            for state in ("running", "checkpointed", "released", "completed"):
                said: Json = {"lease_id": lease["lease_id"], "state": state, "note": "half of it"}
                answers[f"{lease['lease_id']} {state}"] = server.outcome(server.begin("work_report", **said))
    return answers


def answered_in(answers: dict[str, Any]) -> set[str]:
    """The tools that did not refuse."""
    return {name for name, each in answers.items() if isinstance(each, tuple) and not each[0] and name.isalpha()}


def in_the_way_of_both(root: Path) -> tuple[Desk, list[Json]]:
    """A workspace where the other Group holds and says all that it can; with two that know nothing of it."""
    desk = with_one(
        workspace(root, slots=30, groups={FILED: {"class": "critical"}}, preemption={"min_quantum_seconds": 0})
    )
    log = offering(ONE_FED, items=3).log
    deliver(desk, log, ONE_FED)
    for way in ("what it holds", "everything that can be said", "pauses", "merges", "broken files", "a log"):
        IN_THE_WAY[way](desk)
    return desk, log


def test_no_tool_no_resource_and_no_line_of_the_servers_log_names_another_group(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    desk, log = in_the_way_of_both(root)
    words = [sys.executable, "-c", TALKING, "serve", "--workspace", str(root), "--toolsets", TOOLSETS]
    with RawServer(words, env=environment(**CLOCK), cwd=ROOT) as raw:
        raw.enter(MODERN)
        server = Server(raw)
        filed = over_the_wire(server, ONE, "broad", log)
        fed = over_the_wire(server, ONE_FED, max(desk.application.current.state.items[ONE_FED]), log)
        assert naming(filed) == []
        assert naming(fed) == []
        assert naming({"overview": server.call("schedule_status")}) == ["overview"]
        # What was sent of its own accord.
        assert naming({"others": raw.others}) == []
        assert raw.close() == 0
        assert "DEBUG:" in raw.stderr
        assert WORD not in raw.stderr
    # There is something to read.
    assert answered_in(filed) == {"next", "claim", "status", "start", "update", "run", "plan", "estimate"}
    assert answered_in(fed) == {"next", "claim", "status", "start", "deliver", "estimate"}


COMMANDS: Final = {
    "next": "schedule next --graph-id {}",
    "claim": "schedule next --claim --agent-id a --graph-id {}",
    "status": "schedule status --graph-id {}",
    "explain": "schedule policy explain {node} --graph-id {}",
    "start": "work start {node} --agent-id b --graph-id {}",
    "show": "group show {}",
    "outbox": "group outbox {}",
    "estimate": "group estimate {}",
    "nobody": "group show group:nobody",
    "drawn": "schedule plan --mermaid --graph-id {}",
}


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_no_command_about_one_group_names_another_one(tmp_path: Path, form: tuple[str, ...]) -> None:
    root = tmp_path / "ws"
    desk, _ = in_the_way_of_both(root)
    node_id = min(desk.application.current.state.items[ONE_FED])
    said = {name: spoken(root, *line.format(ONE_FED, node=node_id).split(), *form) for name, line in COMMANDS.items()}
    assert naming(said) == []
    assert naming({"overview": spoken(root, "schedule", "status", *form)}) == ["overview"]
    assert all(said.values())
