"""What of the answers about a Group with its own log is told. Knows no step and checks nothing."""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def delivered(seen: Json) -> Iterator[str]:
    """Tell what each delivery came to."""
    yield f"the second half alone: {_counted(seen['half'])}"
    yield f"the whole log: killed at {seen['dead']['point']}, nothing was acknowledged"
    yield f"the whole log, twice: {_counted(seen['again'])}"


def _counted(answer: Json) -> str:
    return (
        f"{answer['applied']} applied, {answer['duplicates']} known already, {answer['held']} held, "
        f"Cursor at {answer['cursor']}"
    )


def claimed(seen: Json) -> Iterator[str]:
    """Tell who has what."""
    for each in seen["taken"]:
        yield f"worker-{each['agent']}: {each['node_id']} of {each['graph_id']}"


def answered(seen: Json) -> Iterator[str]:
    """Tell what the Group was asked for."""
    for each in seen["asked"]:
        yield f"{each['command']} {each['work_item_id']} for {each['agent_id']}, ownership {each['ownership_epoch']}"
    yield f"its log answers: {_counted(seen['told'])}"


def finished(seen: Json) -> Iterator[str]:
    """Tell who did what after that."""
    yield from claimed(seen)


def accounted(seen: Json) -> Iterator[str]:
    """Tell of each node who did it, and how the Group stands."""
    for node in seen["nodes"]:
        yield f"{node['node_id']:<16} done once by {' and '.join(node['done_by'])}"
    group = seen["group"]
    states = ", ".join(f"{each['items']} {each['state']}" for each in group["items"])
    yield f"{group['group_id']}: {states}; Cursor {group['cursor']} of {seen['events']}, outbox {group['outbox']}"
