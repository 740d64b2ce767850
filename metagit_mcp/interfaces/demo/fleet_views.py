"""What of the fleet's answers is told. Knows no step and checks nothing."""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def claimed(seen: Json) -> Iterator[str]:
    """Tell who has what."""
    for lease in seen["taken"]:
        yield f"{lease['node_id']:<6} for {lease['agent_id']}, lease {lease['lease_id']}"


def restarted(seen: Json) -> Iterator[str]:
    """Tell what a second server is told, and how the work comes back."""
    yield f"without it: {seen['refused']['code']}, another server claims as worker-3"
    made = seen["decisions"][0]
    lease, point = made["lease"], made["dispatch_hints"]["resume_from"]
    yield f"{made['node_id']} again, session {lease['session_epoch']}, ownership {lease['ownership_epoch']}"
    yield f"goes on from: {point['note']}"
    yield f"under the former lease: {seen['late']['code']}"


def drained(seen: Json) -> Iterator[str]:
    """Tell what was done, and why both have to wait."""
    yield f"done: {', '.join(seen['done'])}"
    why = ", ".join(f"{nodes} {reason}" for reason, nodes in seen["in_the_way"])
    yield f"worker-1 and worker-2 get nothing: {why}"


def waited(seen: Json) -> Iterator[str]:
    """Tell what came back, and what is known of it."""
    made = seen["decisions"][0]
    hints = made["dispatch_hints"]
    yield f"{made['node_id']} for {made['lease']['agent_id']}, ownership {made['lease']['ownership_epoch']}"
    for tried in hints["attempts"]:
        yield f"tried before: {tried['agent_id']}, {tried['outcome']}"
    yield f"goes on from: {hints['resume_from']['note']}"


def refused(seen: Json) -> Iterator[str]:
    """Tell a refusal."""
    yield f"refused, {seen['code']}: completes nothing, is kept as evidence"


def finished(seen: Json) -> Iterator[str]:
    """Tell what an agent hears at the end."""
    yield f"next step: {seen['next_step']}"


def accounted(seen: Json) -> Iterator[str]:
    """Tell of each node who did it, after whom."""
    for node in seen["nodes"]:
        before = [f"{name} (ownership {epoch})" for name, epoch in node["starts"][:-1]]
        after = f", after {', '.join(before)}" if before else ""
        yield f"{node['node_id']:<6} done once by {' and '.join(node['done_by'])}{after}"
