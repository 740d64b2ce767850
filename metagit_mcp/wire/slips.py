"""Finds misspelt fields in the nodes of a graph file that a person edits. Knows no file, and changes nothing.

A node may have fields of other programs, so an unknown one is no mistake; but a `depend_on` would be passed over
without a word, and its node would start too early. Only small files are looked through: the large ones are written by
programs.
"""

from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from typing import Final

from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.text import close_words, shown_id
from metagit_mcp.wire.codec import is_plain_key

SMALL: Final = 16 * 1024
# A file with more unknown fields than that has fields of a program, not slips.
_MOST_SEEN: Final = 50
_CLOSENESS: Final = 0.8
_READ: Final = frozenset(each.name for each in fields(TaskNode)) - {"updated_at"}
# What else a node of the format has, and nobody here reads.
_KNOWN: Final = _READ | {"created_at", "graph_id", "updated_at"}


def slips(rows: object) -> Iterator[str]:
    """Yield a sentence for each unknown field that is nearly one that is read, and that its node lacks."""
    seen: set[str] = set()
    named: set[str] = set()
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict) or row.keys() <= _KNOWN:
            continue
        unknown = row.keys() - _KNOWN - named
        seen |= unknown
        if len(seen) > _MOST_SEEN:
            return
        for name in sorted(unknown):
            meant = _meant(name)
            if meant is not None and not row.get(meant):
                named.add(name)
                yield f"{shown_id(str(row.get('node_id')))}/{name}: unknown field; is {meant} meant?"


@lru_cache(maxsize=1_000)
def _meant(name: str) -> str | None:
    if not is_plain_key(name):
        return None
    return next(iter(close_words(name, sorted(_READ), closeness=_CLOSENESS)), None)
