"""Turns pydantic's JSON Schema into the subset that every agent host accepts. Knows no tool and no type.

The subset: object roots, inlined references, no unions, nulls, consts, formats, tuples or titles; every object
closed. Everything else breaks at least one host (the reasons are listed in docs/decisions).
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from metagit_mcp.wire.codec import Json, adapter

T = TypeVar("T")
KEYWORDS: Final = frozenset(
    {
        "type",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "default",
    }
)
# Defaults that say no more than that the value is optional; not every host takes one on an array.
_NOTHING: Final[tuple[object, ...]] = (None, "", [])


def portable(schema: Mapping[str, Any], definitions: Mapping[str, Any] | None = None) -> Json:
    """Return `schema` in the portable subset.

    References are inlined, `anyOf [X, null]` becomes X (optional by absence), objects are closed but for those of any
    fields, and every keyword outside `KEYWORDS` is dropped: what it said is still checked when the arguments are read.
    """
    known = definitions if definitions is not None else schema.get("$defs", {})
    node = _single(schema, known)
    kept = {name: each for name, each in node.items() if name in KEYWORDS}
    if "const" in node:
        kept["enum"] = [node["const"]]
    if kept.get("default", 0) in _NOTHING:
        del kept["default"]
    if "items" in kept:
        kept["items"] = portable(kept["items"], known)
    if kept.get("type") == "object":
        if "properties" not in node and kept.pop("additionalProperties", False):
            return kept
        kept["properties"] = {name: portable(each, known) for name, each in node.get("properties", {}).items()}
        kept["additionalProperties"] = False
    return kept


def _single(schema: Mapping[str, Any], known: Mapping[str, Any]) -> Json:
    """Follow references and collapse optional unions, the outer keywords winning."""
    node = dict(schema)
    while "$ref" in node or "anyOf" in node:
        inner = known[node.pop("$ref").rpartition("/")[2]] if "$ref" in node else _one_arm(node.pop("anyOf"))
        node = {**inner, **node}
    return node


def _one_arm(arms: list[Json]) -> Json:
    left = [arm for arm in arms if arm.get("type") != "null"]
    if len(left) != 1:
        message = f"no portable schema for a union of {len(left)} types"
        raise ValueError(message)
    return left[0]


def input_schema(shape: type[T]) -> Json:
    """Return the portable schema of a tool's arguments."""
    return portable(adapter(shape).json_schema())


def output_schema(shape: type[T], depth: int = 3) -> Json:
    """Return the portable schema of a tool's result: objects open below `depth`, where the full schema says more."""
    return _stable(portable(adapter(shape).json_schema(mode="serialization")), depth)


def _stable(node: Json, depth: int) -> Json:
    node = {name: each for name, each in node.items() if name != "default"}
    if "items" in node:
        node["items"] = _stable(node["items"], depth)
    if node.get("type") == "object":
        if depth == 0 or not node.get("properties"):
            return {"type": "object"}
        node["properties"] = {name: _stable(each, depth - 1) for name, each in node["properties"].items()}
    return node
