"""Says what is wrong with a policy record, key by key, and which patch takes it out. Opens no file.

A person who mends a file by hand should see every mistake at once, and a way out that does not need a policy that
can be read.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from metagit_mcp.domain.policy import RFC_KEYS, SchedulePolicy
from metagit_mcp.domain.text import nearest
from metagit_mcp.errors import MetagitError, PolicyInvalid
from metagit_mcp.wire.codec import Json, compact, is_plain_key, problem

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

POLICY_FILE: Final = ".metagit/schedule/policy.json"
BY_HAND: Final = "Mend the file by hand, or move it away: then the defaults hold."
_SHOW: Final = "metagit-mcp schedule policy show prints every key."
_NAMED: Final = 10
# A command that does not fit into a hint would be cut, and could not be pasted.
_LONGEST_PATCH: Final = 1_000


def policy_problem(error: "ValidationError", wrong: type[MetagitError]) -> MetagitError:
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


def _told(detail: "ErrorDetails") -> tuple[str, str]:
    where, rule = problem(detail)
    if detail["type"] == "unexpected_keyword_argument":
        rule = f"unknown key, the nearest known one is {_nearest(detail)}"
    return where, rule


def _nearest(detail: "ErrorDetails") -> str:
    *path, name = map(str, detail["loc"])
    known = _keys_of(_shape_of(path[0]) if path else SchedulePolicy)
    return known[nearest(name, known)]


def _keys_of(shape: Any) -> dict[str, str]:  # noqa: ANN401 - as below
    """Return what a shape's keys may be taken for, and the key as a file has it; the code's own name is no key."""
    names = {each.name: str(each.metadata.get("alias", each.name)) for each in fields(shape)}
    return names | {key: key for key in names.values()}


def _shape_of(key: str) -> Any:  # noqa: ANN401 - a dataclass of the policy, which has no type of its own
    """Return the shape of what stands under a key of the policy, or of each value where that is a map."""
    kind = get_type_hints(SchedulePolicy)[key]
    return kind if is_dataclass(kind) else get_args(kind)[1]


# --- the way out ---------------------------------------------------------------------------------------------------


def _way_out(details: "Sequence[ErrorDetails]") -> str:
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


def _path(detail: "ErrorDetails") -> Iterator[str]:
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
