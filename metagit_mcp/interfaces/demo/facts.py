"""One thing that must be seen at a step: where to look, what must stand there, and what that shows.

Knows no step, nor how an answer is got or told.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from metagit_mcp.domain.value import value


class Fact(NamedTuple):
    """One row: the step, the path into what is seen there, the value to find, and the sentence it stands for."""

    step: str
    path: str
    expected: object
    says: str


Rows = tuple[tuple[str, object, str], ...]


def facts_of(table: Mapping[str, Rows]) -> tuple[Fact, ...]:
    """Return the rows of a table by step: path, value, sentence."""
    return tuple(Fact(step, *row) for step, rows in table.items() for row in rows)


# Stands for what a path does not find.
MISSING: Final = "(missing)"


@value
class Difference:
    """A fact that does not hold, and what was seen in its place."""

    fact: Fact
    seen: object


def difference(fact: Fact, seen: object) -> Difference | None:
    """Return how the fact differs from what is seen at its step, or None when it holds."""
    found = at_path(seen, fact.path)
    return None if _exact(found) == _exact(fact.expected) else Difference(fact=fact, seen=found)


def at_path(seen: Any, path: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return what stands at a dotted path.

    `*` goes on in each item of a list, a number in one of them, `a,b` takes several names of an object as a list;
    what is not there is `MISSING`.
    """
    head, _, rest = path.partition(".")
    if head == "*":
        return [at_path(item, rest) for item in seen] if isinstance(seen, list) else MISSING
    if "," in head:
        return [_item(seen, name) for name in head.split(",")]
    found = _item(seen, head)
    return at_path(found, rest) if rest else found


def _item(seen: object, name: str) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(seen, list) and name.isdigit() and int(name) < len(seen):
        return seen[int(name)]
    return seen.get(name, MISSING) if isinstance(seen, dict) else MISSING


def _exact(found: object) -> str:
    """The value as text: 1, 1.0 and true are three different things."""
    return json.dumps(found, sort_keys=True)
