"""Reads, shows and revises the schedule policy as JSON. Knows no file and no caller.

A revision is the first 12 hex digits of SHA-256 over the canonical policy, so a hand edit changes it too.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from metagit_mcp.domain.policy import (
    FOREIGN_WEIGHTS,
    RFC_KEYS,
    SchedulePolicy,
    has_excess_places,
)
from metagit_mcp.domain.text import shown_id
from metagit_mcp.errors import InvalidInput, MetagitError, PolicyInvalid
from metagit_mcp.wire.codec import Json, compact, parse_json, refusal, validated
from metagit_mcp.wire.exact import plainly
from metagit_mcp.wire.policy_problems import BY_HAND, POLICY_FILE, policy_problem

_SCHEMA_KEY: Final = "$schema"


def policy_record(raw: bytes) -> Json:
    """Return the JSON object in a policy file.

    Raises:
        PolicyInvalid: the text is not one JSON object; names the position, never the content.
    """
    try:
        record = parse_json(raw)
    except ValueError as error:
        raise PolicyInvalid(f"{POLICY_FILE} is not valid JSON: {error}.", hint=BY_HAND) from None
    if not isinstance(record, dict):
        raise PolicyInvalid(f"{POLICY_FILE} must hold one JSON object.", hint=BY_HAND)
    return record


def read_policy(record: Mapping[str, Any], wrong: type[MetagitError] = PolicyInvalid) -> SchedulePolicy:
    """Return the policy that a JSON object means; `$schema` is passed over, null in a key of ours is its default.

    Raises:
        MetagitError: of class `wrong`; names every bad key, an unknown one with the nearest known one.
    """
    given = {
        name: each for name, each in record.items() if name != _SCHEMA_KEY and (each is not None or name in RFC_KEYS)
    }
    if not given:
        return SchedulePolicy()
    try:
        return validated(SchedulePolicy, compact(given))
    except refusal() as error:
        raise policy_problem(error, wrong) from None


def shown_policy(policy: SchedulePolicy) -> Json:
    """Return the whole policy in the shape of policy.json, nulls included."""
    return dict(plainly(policy))


def rfc_part(policy: SchedulePolicy) -> Json:
    """Return the part of the policy that RFC-0012 knows."""
    shown = shown_policy(policy)
    return {name: shown[name] for name in RFC_KEYS}


def revision_of(policy: SchedulePolicy) -> str:
    """Return the policy's revision."""
    import json  # noqa: PLC0415 - canonical form needs sorted keys, which pydantic does not offer

    canonical = json.dumps(shown_policy(policy), sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(canonical).hexdigest()[:12]


def rounding_warnings(policy: SchedulePolicy) -> Iterator[str]:
    """Yield a warning for each weight or penalty with more than six places."""
    numbers: dict[str, float | None] = {
        f"weights.{name}": each for name, each in shown_policy(policy)["weights"].items()
    }
    numbers["merge_pressure_penalty"] = policy.merge_pressure_penalty
    for graph_id, override in shown_policy(policy)["graph_overrides"].items():
        numbers |= {f"graph_overrides.{shown_id(graph_id)}.{name}": each for name, each in override.items()}
    for name, number in numbers.items():
        if number is not None and has_excess_places(number):
            yield f"policy: {name} has more than six decimal places and is rounded half-even"


def merge_patch(target: object, patch: object) -> Any:  # noqa: ANN401 - RFC 7396 is defined on any JSON value
    """Return `target` with an RFC 7396 JSON merge patch applied; neither argument is changed."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, each in patch.items():
        if each is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), each)
    return merged


def parse_patch(text: str) -> Json:
    """Return the JSON object of a merge patch.

    Raises:
        InvalidInput: it is not one JSON object.
    """
    try:
        patch = parse_json(text.encode())
    except ValueError as error:
        hint = 'For example: {"weights": {"affinity": 1}}; null takes a key out.'
        raise InvalidInput(f"patch is not valid JSON: {error}", hint=hint, field="patch") from None
    if not isinstance(patch, dict):
        raise InvalidInput("patch must be a JSON object (RFC 7396 merge patch).", field="patch")
    return patch


# --- what other programs drop ----------------------------------------------------------------------------------


def own_part(record: Mapping[str, Any]) -> Json:
    """Return what of a policy record only this project knows: other programs drop it when they rewrite the file."""
    own = {name: each for name, each in record.items() if name not in (*RFC_KEYS, _SCHEMA_KEY) and each is not None}
    weights = _own_weights(record.get("weights"))
    overrides = record.get("graph_overrides")
    by_graph = {
        graph_id: _own_weights(override)
        for graph_id, override in (overrides if isinstance(overrides, dict) else {}).items()
    }
    by_graph = {graph_id: override for graph_id, override in by_graph.items() if override}
    return own | ({"weights": weights} if weights else {}) | ({"graph_overrides": by_graph} if by_graph else {})


def _own_weights(weights: object) -> Json:
    if not isinstance(weights, dict):
        return {}
    return {name: each for name, each in weights.items() if name not in FOREIGN_WEIGHTS and each is not None}


def with_kept(record: Json, kept: Mapping[str, Any]) -> tuple[Json, list[str]]:
    """Return the record with kept keys where it lacks them, and the dotted names of those; an explicit null ends one.

    Other programs drop a key of ours whole, but know weights and graph_overrides: those are filled in below too.
    """
    merged = dict(record)
    restored: list[str] = []
    for name, each in kept.items():
        if name in RFC_KEYS and isinstance(each, dict):
            found = merged.get(name, {})
            merged[name] = _filled(found, each, name, restored) if isinstance(found, dict) else found
        elif name not in merged:
            merged[name] = each
            restored.append(shown_id(name))
    return merged, restored


def _filled(found: Json, kept: Json, where: str, restored: list[str]) -> Json:
    filled = dict(found)
    for name, each in kept.items():
        below = f"{where}.{shown_id(name)}"
        if isinstance(each, dict):
            there = filled.get(name, {})
            filled[name] = _filled(there, each, below, restored) if isinstance(there, dict) else there
        elif name not in filled:
            filled[name] = each
            restored.append(below)
    return filled
