"""What of an answer is told: the lines that an agent would act on. Knows no step and checks nothing."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

Json = dict[str, Any]


def tools(seen: Json) -> Iterator[str]:
    """Tell the tools."""
    for tool in seen["tools"]:
        yield f"{tool['name']:<24} {tool['title']}"


def plans(seen: Json) -> Iterator[str]:
    """Tell each graph and what waits for what in it."""
    for each in seen["plans"]:
        graph = each["graph"]
        yield f"{graph['graph_id']:<9} {', '.join(map(_planned, graph['nodes']))}"


def _planned(node: Json) -> str:
    after = node.get("depends_on")
    return f"{node['node_id']} (after {', '.join(after)})" if after else str(node["node_id"])


def standing(seen: Json) -> Iterator[str]:
    """Tell the counts, the merge pressure and what waits for a person."""
    counts = seen["counts"]
    yield (
        f"of {counts['nodes']} nodes {counts['eligible']} can run, {counts['waiting']} wait for others,"
        f" {counts['awaiting_approval']} for approval"
    )
    for row in seen["merge_pressure"]:
        word = "under merge pressure" if row["pressured"] else "no merge pressure"
        yield f"{row['repository']}: {word}, {row['depth']} queued or running, threshold {row['threshold']}"
    for row in seen["needs_person"]:
        yield f"needs a person, {row['reason']}: {row['command']}"


def order(seen: Json) -> Iterator[str]:
    """Tell the order, with the reasons of each place."""
    for place, made in enumerate(seen["decisions"], start=1):
        yield f"{place}. {made['node_id']:<9} {made['score']:<8} {' '.join(made['reasons'])}"


def offer(seen: Json) -> Iterator[str]:
    """Tell the node that is offered and why."""
    for made in seen["decisions"]:
        yield f"{made['graph_id']}/{made['node_id']}, decision {made['decision_id'][:8]}"
        yield f"because {' '.join(made['reasons'])}"


def taken(seen: Json) -> Iterator[str]:
    """Tell the node that is taken, under which lease, and what another call gives."""
    for made in seen["decisions"]:
        lease = made["lease"]
        yield (
            f"{made['graph_id']}/{made['node_id']} for {lease['agent_id']}, lease {lease['lease_id']},"
            f" ownership {lease['ownership_epoch']}"
        )
        yield f"because {' '.join(made['reasons'])}"
    if "again" in seen:
        yield "asked again: nothing new, held is the same lease"


def finished(seen: Json) -> Iterator[str]:
    """Tell what is done, what is offered now, and what was left for it."""
    yield f"{seen['done']['node_id']} is {seen['done']['node_status']}"
    yield from offer(seen)
    for left in seen["decisions"][0]["dispatch_hints"]["inputs"]:
        yield f"{left['node_id']} left: {left['summary']} {' '.join(left['artifacts'])}"


def dispatch(seen: Json) -> Iterator[str]:
    """Tell the node that is offered and what its launcher is told."""
    yield from offer(seen)
    made = seen["decisions"][0]
    hints = made["dispatch_hints"]
    yield f"repository {hints['repository']}, warm worktree {hints['worktree']}"
    yield f"prompt: {hints['handoff']['prompt']}"
    yield f"context: {made['compile_command']}"
    yield f"next step: {seen['next_step']}"


def explained(seen: Json) -> Iterator[str]:
    """Tell what runs, and every reason against the node."""
    yield f"running: {', '.join(_runner(row) for row in seen['running'])}"
    told = seen["explain"]
    against = ", ".join(reason["text"] for reason in told["reasons"]) or "nothing against it"
    yield f"{told['node_id']} is {told['status']}: {against}"


def _runner(row: Json) -> str:
    return f"{row['node_id']} by {row['agent_id']}"


def refused(seen: Json) -> Iterator[str]:
    """Tell a refusal and its way out."""
    yield f"refused, {seen['code']}: {seen['message']}"
    yield f"hint: {seen['hint']}"


def approved(seen: Json) -> Iterator[str]:
    """Tell an approval."""
    yield f"{seen['node_id']} approved by {seen['approved_by']}. {seen['next_step']}"


def policy(seen: Json) -> Iterator[str]:
    """Tell what a policy does to the order."""
    effect = seen["effect"]
    yield f"before: {_places(effect['before'])}"
    yield f"after:  {_places(effect['after'])}"
    yield f"revision {seen['revision']}, threshold in force: {seen['in_force']}"


def _places(rows: list[Json]) -> str:
    return ", ".join(f"{row['node_id']} {row['score']}" for row in rows)


def logged(seen: Json) -> Iterator[str]:
    """Tell the lines of the logs, neighbours of one kind together."""
    decisions = [f"{node_id} for {agent_id or 'anyone'}" for node_id, agent_id in seen["decisions"]]
    for name, lines in (
        ("schedule/decisions.jsonl", decisions),
        ("events/scheduler.jsonl", _together(seen["scheduler"])),
        ("schedule/audit.jsonl", _together(seen["audit"])),
        ("events/taskgraph.jsonl", _together(seen["planned"])),
    ):
        yield f"{name}: {', '.join(lines)}"
    yield f"in the graph files: {', '.join(f'{node} {status}' for node, status in seen['statuses'])}"


def _together(events: list[list[str]]) -> Iterator[str]:
    for kind, group in groupby(events, key=itemgetter(0)):
        yield f"{kind} {' '.join(subject for _, subject in group)}"
