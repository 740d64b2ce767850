"""Keeps an answer within what agent hosts accept, saying what was cut. Knows no tool.

Hosts refuse results over about 25,000 tokens; 40,000 bytes of JSON stay well below that (interfaces.md §3).
"""

from typing import Any, Final

from metagit_mcp.wire.codec import Json, compact, plain

LIMIT: Final = 40_000
# Lists in the order in which they are shortened, and how to see the rest.
_CUTS: Final = (
    ("recent_decisions", "ask with a smaller recent, or read schedule/decisions.jsonl"),
    ("skipped", "ask with graph_id"),
    ("effect", "ask for metagit_schedule_next after the change"),
    ("running", "ask with graph_id"),
    ("needs_person", "ask with graph_id"),
    ("groups", "ask with after_group"),
    ("decisions", "ask with a smaller limit, or detail=brief"),
    ("merge_pressure", "read merges/*.json"),
    ("not_eligible", "ask with graph_id"),
    ("graph.nodes", "metagit-mcp task list --graph-id GRAPH"),
    ("warnings", "metagit-mcp schedule status prints them all"),
)


def fitted(answer: object, limit: int = LIMIT) -> Json:
    """Return an answer as its JSON record of at most `limit` bytes.

    What does not fit is cut from the ends of its lists, the least useful first; `truncated` and `omitted` say what
    is missing and how to get it.
    """
    record = plain(answer)
    excess = len(compact(record)) - limit
    for path, how in _CUTS:
        if excess <= 0:
            break
        cut = _shorten(record, path.split("."), excess)
        if cut:
            record["truncated"] = True
            record.setdefault("omitted", []).append({"what": path, "count": cut, "how": how})
            excess = len(compact(record)) - limit
    return record


def _shorten(record: Json, path: list[str], excess: int) -> int:
    """Drop items from the end of the list at `path` until `excess` bytes are saved; return how many went."""
    holder: Any = record
    for name in path[:-1]:
        holder = holder.get(name, {})
    items = holder.get(path[-1]) if isinstance(holder, dict) else None
    if isinstance(items, dict):
        del holder[path[-1]]
        return 1
    if not isinstance(items, list):
        return 0
    saved = dropped = 0
    # What the note about the cut takes itself.
    while items and saved < excess + 200:
        saved += len(compact({"": items.pop()}))
        dropped += 1
    return dropped
