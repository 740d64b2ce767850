"""How the schedule policy looks to people. It must not print, nor know which keys a policy has."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from metagit_mcp.interfaces.cli.output import Block, Table
from metagit_mcp.interfaces.cli.views.schedule import number, view_remarks
from metagit_mcp.wire.responses import Placed, PolicyAnswer, PolicyEffect


def view_policy(answer: PolicyAnswer, action: str) -> Iterator[Block]:
    """Yield every key of the policy, order and shares before and after a change, and whether a set changed anything."""
    rows = tuple((name, _text(each)) for name, each in flattened(answer.policy))
    title = "Policy if set (nothing is written)" if action == "preview" else "Policy"
    yield Table(title=f"{title}, revision {answer.revision}", header=("key", "value"), rows=rows)
    if answer.effect is not None:
        yield _order(answer.effect)
        yield _shares(answer.effect)
    if action == "set":
        yield "changed" if answer.changed else "not changed"
    yield from view_remarks(answer.warnings, answer.next_step)


def flattened(record: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value of nested objects with its dotted name; an empty object is a value."""
    for name, each in record.items():
        if isinstance(each, Mapping) and each:
            yield from flattened(each, f"{path}{name}.")
        else:
            yield f"{path}{name}", each


def _text(each: object) -> str:
    if each is None:
        return "none"
    if isinstance(each, bool):
        return "true" if each else "false"
    if isinstance(each, int | float):
        return number(each)
    if isinstance(each, list | tuple):
        return ", ".join(map(str, each)) or "none"
    return "none" if each == {} else str(each)


def _order(effect: PolicyEffect) -> Table:
    pairs = zip_longest(effect.before, effect.after)
    rows = tuple((str(place), _placed(before), _placed(after)) for place, (before, after) in enumerate(pairs, start=1))
    return Table(title="Order", header=("place", "before", "after"), rows=rows, numbers=frozenset({"place"}))


def _shares(effect: PolicyEffect) -> Table:
    shown, total = len(effect.shares), effect.shares_total
    title = "Guaranteed shares" if shown == total else f"Guaranteed shares, the {shown} of {total} that change most"
    rows = tuple((each.graph_id, number(each.before), number(each.after)) for each in effect.shares)
    return Table(title=title, header=("graph", "before", "after"), rows=rows, numbers=frozenset({"before", "after"}))


def _placed(node: Placed | None) -> str:
    return "" if node is None else f"{node.graph_id}/{node.node_id} {number(node.score)}"
