"""A workspace where another Group has one word in every text that it has, and the ways in which it is in the way.

It must not know what is answered about any of it.
"""

from __future__ import annotations

import json
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from metagit_mcp.errors import MetagitError
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.estimate_answers import EstimateRequest
from tests import ready
from tests.groups.offered import CAPABLE, at_the_beginning, deliver, offering
from tests.interfaces.cli.fake_runs import WAIT_S, environment
from tests.scenarios.at_once import finished
from tests.scenarios.surfaces import PROGRAM
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = dict[str, Any]
WORD: Final = "canary"
# The other Group, as a task graph and as one that is fed by Events, and the agent that works for it.
FILED, FED = f"{WORD}-group", f"group:{WORD}"
AGENT: Final = f"agent://{WORD}/coder"
# Two agents of the one Group, each known to its log too.
OWN, SECOND = "agent://acme/coder", "agent://acme/analyst"
LATER: Final = "2026-07-15T20:00:00Z"
POLICY: Final = "schedule/policy.json"
CLOCK: Final = {"METAGIT_MCP_CLOCK": "2026-07-15T08:05:00Z", "METAGIT_MCP_IDS": "isolation"}
# Every text of a node that says nothing to the scheduler.
TEXTS: Final[Json] = {
    "title": f"the {WORD}'s work",
    "intent_id": f"{WORD}-intent",
    "agent_id": AGENT,
    "acl": {"acl_commands": [f"metagit acl grant {WORD}"]},
    "compiled_context_path": f"/tmp/{WORD}.md",  # noqa: S108 - no file is made
    "business_impact": f"{WORD} impact",
    "acceptance": [f"the {WORD} sings"],
    "discovered_from": f"{WORD}-found",
    "model_tier": "small",
}
ELSEWHERE: Final[Json] = {"project": f"{WORD}-project", "repository": f"{WORD}-project/{WORD}-repo"}
# Each node of the other Group, with the texts that are in the way.
NODES: Final[dict[str, Json]] = {
    "key": {"exclusive": ["lock", f"{WORD}-key"], **ELSEWHERE},
    "files": {"touches": [f"src/{WORD}/**", "src/main.py"], "repository": "p/api"},
    "more-files": {"touches": [f"docs/{WORD}/**"], "repository": "p/api"},
    "units": {"uses": {"api": 2, f"{WORD}-units": 1}, **ELSEWHERE},
    "mail": {"uses": {"mail": 1}, **ELSEWHERE},
    "narrow": {"priority": 5, **ELSEWHERE},
    "wide": {"slots": 3, "priority": -5, **ELSEWHERE},
    "urgent": {"requested_urgency": "critical", "deadline": LATER, "priority": 900, **ELSEWHERE},
    "skilled": {"capabilities": [f"{WORD}-skill"], "budget": {"tokens": 100}, **ELSEWHERE},
    "gated": {"approval": "human_required", "risk": "high_risk", **ELSEWHERE},
    "stuck": {"status": "blocked", "blocker_reason": f"waits for the {WORD}", **ELSEWHERE},
    "after": {"depends_on": [f"{WORD}-stuck"], **ELSEWHERE},
    "part": {"parent_id": f"{WORD}-stuck", "not_before": LATER, **ELSEWHERE},
    "lost": {"depends_on": [f"{WORD}-gone"], **ELSEWHERE},
    "wrong": {"slots": 0, **ELSEWHERE},
    "elsewhere": {"status": "running", "updated_at": "2026-07-15T07:00:00Z", **ELSEWHERE},
}


def named(name: str) -> str:
    """The id of a node of the other Group."""
    return f"{WORD}-{name}"


def workspace(root: Path, **policy: object) -> Desk:
    """A process on a new workspace with the other Group in it, and all that a policy can say of it."""
    for name in ("tasks/graphs", "schedule"):
        (root / ".metagit" / name).mkdir(parents=True)
    desk = at_the_beginning(Desk(root, watch="stat", operator=f"{WORD}-operator"))
    desk.put(POLICY, with_policy(**policy))
    texts = {"title": f"{WORD} title", "intent": {"goal": f"{WORD} goal"}}
    desk.graph(FILED, *rows(), **texts)
    tree = {"path": f"/tmp/{WORD}", "repository": ELSEWHERE["repository"], "agent_id": AGENT, "status": "active"}  # noqa: S108 - no file is made
    desk.put("worktrees/worktrees.json", {"worktrees": [{**tree, "updated_at": "2026-07-15T07:00:00Z"}]})
    return desk


def rows() -> list[Json]:
    """The nodes of the other Group as its file has them."""
    return [node(named(name), **{**TEXTS, **fields}) for name, fields in NODES.items()]


def with_policy(**more: Any) -> Json:  # noqa: ANN401 - any key of a policy
    """A policy in which every map has an entry for the other Group."""
    groups = {FILED: {"quota": 9, "context_refs": [f"{WORD}-context"], "credential_refs": [f"{WORD}-secret"]}}
    return {
        "slots": 9,
        "agent_slots": 9,
        "graph_overrides": {FILED: {"priority": 2.0}},
        "resources": {"api": {"capacity": 3}, f"{WORD}-units": {"capacity": 3}},
        "agents": {f"{AGENT}*": {"slots": 9, "capabilities": [f"{WORD}-skill", *CAPABLE]}},
        **more,
        "groups": {**groups, **more.get("groups", {})},
    }


# --- a log of its own ------------------------------------------------------------------------------------------------


def planted_log() -> list[Json]:
    """The log of the other Group where that is fed by Events: two WorkItems, offered to its agents."""
    text = json.dumps(offering("group:cli", items=2).log)
    for said in ("cli", "acme", "checks pass", "waits for it"):
        text = text.replace(said, WORD)
    log: list[Json] = json.loads(text)
    return log


def feed(desk: Desk) -> list[str]:
    """Deliver that log; return its WorkItems."""
    deliver(desk, planted_log(), FED)
    return sorted(desk.application.current.state.items[FED])


def estimated(desk: Desk, graph_id: str, node_id: str | None = None) -> Json:
    """What a Group is told of its schedule, or of that of a node."""
    request = parse_request(EstimateRequest, {"group_id": graph_id, "node_id": node_id})
    return plain(finished(desk.application.groups.estimate(request)))


# --- in the way ------------------------------------------------------------------------------------------------------


def start(desk: Desk, name: str) -> str:
    """Let the other Group's agent work on one of its nodes."""
    lease_id: str = desk.start(named(name), AGENT, graph_id=FILED)["lease"]["lease_id"]
    return lease_id


def work_on_everything(desk: Desk) -> None:
    """All that an agent can say of its work, with the word in it, and all that a person can do about it."""
    point = {"checkpoint_id": f"{WORD}-point", "uri": f"file:///{WORD}", "digest": f"{WORD}:1", "note": f"a {WORD}"}
    desk.report(start(desk, "narrow"), "paused", checkpoint=point)
    desk.report(start(desk, "narrow"), "blocked", note=f"the {WORD} is ill", checkpoint=point)
    desk.report(start(desk, "skilled"), "failed", note=f"the {WORD} fell")
    desk.report(start(desk, "urgent"), "completed", result={"summary": f"a {WORD}", "artifacts": [f"/{WORD}"]})
    desk.approve(named("gated"), FILED, f"{WORD}-person")
    late = start(desk, "gated")
    desk.release(named("gated"), f"the {WORD} has flown", FILED)
    said = {"summary": f"late {WORD}", "evidence": [WORD]}
    try_to(lambda: desk.report(late, "completed", result=said))
    desk.claim(AGENT, graph_id=FILED, capabilities=[f"{WORD}-skill"])
    desk.next(agent_id=AGENT, graph_id=FILED, limit=9)


def try_to(act: Callable[[], Json]) -> Json:
    """What is answered, or the record of the refusal."""
    try:
        return act()
    except MetagitError as error:
        return error.as_record()


def hold_all(desk: Desk) -> None:
    """Keys, files and units are held by the other Group, one resource turned its agent away, and its queue is long."""
    for name in ("key", "files", "more-files", "units"):
        start(desk, name)
    turned = {"resource": "mail", "until": "2026-07-15T09:30:00Z"}
    desk.report(start(desk, "mail"), "failed", rate_limited=turned)
    desk.start(named("narrow"), AGENT, graph_id=FILED, queue_only=True)


def fill_slots(desk: Desk) -> None:
    """No slot is free; a run that another program began holds one of them."""
    desk.put(POLICY, with_policy(slots=3))
    for name in ("key", "units"):
        try_to(partial(desk.start, named(name), AGENT, graph_id=FILED))


def keep_slots(desk: Desk) -> None:
    """Slots are free, and kept for the one wide node that is left of the other Group."""
    desk.put(POLICY, with_policy(slots=4, drain_limit=0))
    start(desk, "key")
    desk.graph(FILED, *(row for row in rows() if row["node_id"] in {named("key"), named("wide")}))
    desk.claim(AGENT, graph_id=FILED)


def pause_all(desk: Desk) -> None:
    """Whatever of the other Group can be paused is."""
    because = f"because of the {WORD}"
    desk.pause("group", FILED, because)
    desk.pause("agent", AGENT, because)
    desk.pause("resource", f"{WORD}-units", because)
    desk.pause("resource", f"{WORD}-key", because)


def press(desk: Desk) -> None:
    """Merges are queued in the other Group's repository, and in the one that both work in."""
    for number in range(4):
        desk.put(f"merges/{WORD}{number}.json", {"repository": ELSEWHERE["repository"], "status": "queued"})
        desk.put(f"merges/m{number}.json", {"repository": "p/api", "status": "queued", "title": WORD})


def break_files(desk: Desk) -> None:
    """A file of its that cannot be used, one with strange fields, and lines of logs that cannot be read."""
    desk.put(f"tasks/graphs/{WORD}-broken.json", [WORD])
    desk.put(POLICY, {**desk.document(POLICY), "weights": {"priority": 1.00000001}})
    desk.set_row(named("narrow"), FILED, slots=WORD, status=WORD)
    desk.put("merges/broken.json", {WORD: WORD})


IN_THE_WAY: Final[dict[str, Callable[[Desk], object]]] = {
    "nothing": lambda _: None,
    "everything that can be said": work_on_everything,
    "what it holds": hold_all,
    "no slot": fill_slots,
    "kept slots": keep_slots,
    "pauses": pause_all,
    "merges": press,
    "broken files": break_files,
    "a log": feed,
}


def spoken(root: Path, *arguments: str) -> str:
    """All that a command says, however it ends."""
    words = [*PROGRAM, *arguments, "--workspace", str(root)]
    ended = ready.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(**CLOCK),
        timeout=WAIT_S,
        check=False,
    )
    return ended.stdout + ended.stderr
