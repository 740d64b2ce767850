"""Keeps an answer within what agent hosts accept, saying what was cut. Knows no tool.

Hosts refuse results over about 25,000 tokens; 40,000 bytes of JSON stay well below that (interfaces.md §3).
"""

from collections.abc import Iterator
from typing import Any, Final

from pydantic_core import to_json

from metagit_mcp.wire.codec import Json, compact, plain

LIMIT: Final = 40_000
# What the note about a cut takes itself, at most.
_NOTE_BYTES: Final = 200
_SHOW: Final = "metagit-mcp task show NODE"


def _hints(at: str) -> Iterator[tuple[str, int, str]]:
    """Yield the cuts of one node's dispatch hints: what the work can do without first."""
    yield f"{at}.depends_on", 0, _SHOW
    for part in ("evidence", "artifacts"):
        yield f"{at}.inputs.*.{part}", 3, _SHOW
    yield f"{at}.attempts", 3, _SHOW
    yield f"{at}.inputs", 0, _SHOW
    yield f"{at}.attempts", 0, _SHOW
    yield f"{at}.acceptance", 0, _SHOW


# What is shortened, in this order; how many items stay; how to see the rest. `*` stands for every item of a list.
_CUTS: Final[tuple[tuple[str, int, str], ...]] = (
    ("warnings", 20, "mend the files that the first warnings name"),
    ("policy.graph_overrides", 0, "read schedule/policy.json"),
    ("policy.groups", 0, "read schedule/policy.json"),
    ("policy.agents", 0, "read schedule/policy.json"),
    ("merge_pressure", 20, "read merges/*.json"),
    ("recent_decisions", 0, "ask with a smaller recent, or read schedule/decisions.jsonl"),
    ("skipped", 0, "ask with graph_id"),
    ("effect", 0, "ask for metagit_schedule_next after the change"),
    ("running", 0, "ask with graph_id"),
    ("waiting", 0, "ask with graph_id"),
    ("pauses", 0, "metagit-mcp schedule status"),
    ("needs_person", 0, "ask with graph_id"),
    ("groups", 0, "ask with after_group"),
    # Not one of them is ever shortened: it is to be sent as it is.
    ("proposals", 1, "answer the first ones, or metagit-mcp group outbox GROUP --json"),
    # What was granted just now is told nowhere else; what was held before was told when it was granted.
    ("held", 1, "report on the leases that are shown first"),
    ("decisions", 1, "ask with a smaller limit, or detail=brief; held of the next claim lists every lease"),
    *_hints("decisions.*.dispatch_hints"),
    *_hints("dispatch_hints"),
    ("decisions.*.acl_commands", 0, _SHOW),
    ("explain.reasons", 20, "mend the first reasons"),
    ("merge_pressure", 0, "read merges/*.json"),
    ("graph.nodes", 0, "metagit-mcp task list --graph-id GRAPH"),
    ("node.acceptance", 0, "read the graph file"),
    ("node.depends_on", 0, "read the graph file"),
    ("warnings", 0, "mend the files that the first warnings name"),
)


Rendered = tuple[Json, bytes]


def fitted(answer: object, limit: int = LIMIT) -> Json:
    """Return an answer as its JSON record of at most `limit` bytes.

    What does not fit is cut from the ends of its lists, the least useful first; `truncated` and `omitted` say what
    is missing and how to get it.
    """
    return rendered(answer, limit)[0]


def rendered(answer: object, limit: int = LIMIT) -> Rendered:
    """Return the same record, and with it the one compact line by which its size was measured."""
    record = plain(answer)
    line = compact(record)
    for path, keep, how in _CUTS:
        excess = len(line) - limit
        if excess <= 0:
            break
        cut = sum(_shorten(items, keep, excess) for items in _found(record, path.split(".")))
        if cut:
            record["truncated"] = True
            record.setdefault("omitted", []).append({"what": path, "count": cut, "how": how})
            line = compact(record)
    return record, line


def _found(holder: Any, path: list[str]) -> Iterator[Any]:  # noqa: ANN401 - any JSON value has parts
    """Yield the lists and objects at `path`."""
    if not path:
        if isinstance(holder, list | dict):
            yield holder
    elif path[0] == "*":
        for item in holder if isinstance(holder, list) else ():
            yield from _found(item, path[1:])
    elif isinstance(holder, dict) and path[0] in holder:
        yield from _found(holder[path[0]], path[1:])


def _shorten(items: list[Any] | Json, keep: int, excess: int) -> int:
    """Drop items from the end, down to `keep`, until `excess` bytes are saved; return how many went."""
    dropped = 0
    saved = -_NOTE_BYTES
    while len(items) > keep and saved < excess:
        last = items.popitem() if isinstance(items, dict) else items.pop()
        # A list's item has one comma; an object's pair counts its brackets for the quotes it has.
        saved += len(to_json(last)) + 1 - 2 * isinstance(items, dict)
        dropped += 1
    return dropped
