"""Says what is wrong with a policy record, key by key, and which patch takes it out. Opens no file.

A person who mends a file by hand should see every mistake at once, and a way out that does not need a policy that
can be read.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from metagit_mcp.domain.policy import (
    RFC_KEYS,
    AffinityPolicy,
    AgentPolicy,
    GatePolicy,
    GroupPolicy,
    SchedulePolicy,
    WeightOverride,
    Weights,
)
from metagit_mcp.domain.text import nearest
from metagit_mcp.errors import MetagitError, PolicyInvalid
from metagit_mcp.wire.codec import Json, compact, is_plain_key, problem

POLICY_FILE: Final = ".metagit/schedule/policy.json"
BY_HAND: Final = "Mend the file by hand, or move it away: then the defaults hold."
_SHOW: Final = "metagit-mcp schedule policy show prints every key."
_NAMED: Final = 10
# A command that does not fit into a hint would be cut, and could not be pasted.
_LONGEST_PATCH: Final = 1_000


def policy_problem(error: ValidationError, wrong: type[MetagitError]) -> MetagitError:
    """Return everything that is wrong as one error of class `wrong`; PolicyInvalid is always about the file."""
    details = error.errors(include_url=False, include_input=False)
    found = dict.fromkeys(_told(each) for each in details)
    where = list(dict.fromkeys(field for field, _ in found))
    text = "; ".join(f"{field}: {rule}" for field, rule in list(found)[:_NAMED])
    if len(found) > _NAMED:
        text = f"{text}; and {len(found) - _NAMED} more"
    facts: Json = {"field": where[0]} | ({"fields": where[:_NAMED]} if len(where) > 1 else {})
    if issubclass(wrong, PolicyInvalid):
        return wrong(f"{POLICY_FILE}: {text}", hint=_way_out(details), **facts)
    return wrong(text, hint=_SHOW, **facts)


def _told(detail: ErrorDetails) -> tuple[str, str]:
    where, rule = problem(detail)
    if detail["type"] == "unexpected_keyword_argument":
        rule = f"unknown key, the nearest known one is {_nearest(where)}"
    return where, rule


_SHAPES: Final[Mapping[str, type]] = {
    "weights": Weights,
    "graph_overrides": WeightOverride,
    "groups": GroupPolicy,
    "agents": AgentPolicy,
    "gates": GatePolicy,
    "affinity": AffinityPolicy,
}


def _nearest(where: str) -> str:
    *path, name = where.split("/")
    return nearest(name, [each.name for each in fields(_SHAPES[path[0]] if path else SchedulePolicy)])


# --- the way out ---------------------------------------------------------------------------------------------------


def _way_out(details: Sequence[ErrorDetails]) -> str:
    """Return the command that takes the bad keys out of the file, or how to go on by hand."""
    paths = [list(_path(each)) for each in details]
    if not all(path and all(map(is_plain_key, path)) for path in paths):
        return BY_HAND
    patch: Json = {}
    for path in paths:
        _put_null(patch, path)
    text = compact(patch).decode()
    if len(text) > _LONGEST_PATCH:
        return BY_HAND
    command = f"metagit-mcp schedule policy set --patch {shlex.quote(text)}{_vouched(patch)}"
    return f"Mend the file by hand, or take out what is wrong with: {command}"


def _path(detail: ErrorDetails) -> Iterator[str]:
    """Yield the keys from the top to the one that is to go: an item of a list goes with its list."""
    for part in detail["loc"]:
        if not isinstance(part, str) or part == "[key]":
            return
        yield part


def _put_null(patch: Json, path: Sequence[str]) -> None:
    at: Any = patch
    for name in path[:-1]:
        at = at.setdefault(name, {})
    at[path[-1]] = None


def _vouched(patch: Json) -> str:
    organization = {each.name for each in fields(SchedulePolicy)}.difference(RFC_KEYS)
    return " --operator NAME" if organization.intersection(patch) else ""
