"""The pages about what decides: the policy, the reasons, the schemas. It must not know how they are called for."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, get_args

from making import wording
from making.markdown import Row, bounds_of, code, page, refuse_drift, sentence, shown_default, table, yes

from metagit_mcp.domain.policy import FOREIGN_WEIGHTS, RFC_KEYS, MicroWeights, SchedulePolicy
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.scheduling.eligibility import Reason, ReasonKind, waits_for_person
from metagit_mcp.scheduling.scoring import RepositoryTerms, Scored, reasons
from metagit_mcp.wire.schemas import schema_names, schema_of

# --- policy ----------------------------------------------------------------------------------------------------


def policy_rows() -> Iterator[Row]:
    """Yield every key of policy.json."""
    schema = schema_of("policy")
    names = [each.name for each in fields(SchedulePolicy)]
    for name in names:
        owner = "RFC-0012" if name in RFC_KEYS else "Organization"
        for path, each in leaves(name, schema["properties"][name], schema["$defs"]):
            weight = path.rpartition(".")[2]
            dropped = name not in RFC_KEYS or (name in {"weights", "graph_overrides"} and weight not in FOREIGN_WEIGHTS)
            default = shown_default(each) or "none"
            yield (
                code(path),
                bounds_of(single(each)),
                default,
                owner,
                "keeps" if not dropped else "drops",
                meaning(each),
            )


def meaning(schema: Mapping[str, Any]) -> str:
    """Return the description of a key."""
    return str(schema["description"])


def single(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arm of an optional schema that is not null, with the outer keywords."""
    arms = [arm for arm in schema.get("anyOf", ()) if arm.get("type") != "null"]
    return {**arms[0], **schema} if arms else {"type": "string", **schema}


# What stands for the keys of a map, by the map.
KEYS = {"agents": "pattern", "resources": "name", "uses": "resource", "budget": "figure"}


def leaves(path: str, schema: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the keys below a key of the policy, by their dotted names; a map's own keys stand as <id>."""
    below = single(schema).get("additionalProperties")
    if "$ref" in schema:
        for name, each in known[schema["$ref"].rpartition("/")[2]]["properties"].items():
            yield from leaves(f"{path}.{name}", each, known)
    elif isinstance(below, dict):
        key = f"{path}.<{KEYS.get(path.rpartition('.')[2], 'graph_id')}>"
        yield from leaves(key, below, known) if "$ref" in below else [(key, {**below, "description": meaning(schema)})]
    else:
        yield path, schema


def policy_page() -> str:
    """The keys of the policy."""
    return page(
        "policy.json",
        "`.metagit/schedule/policy.json` holds what an owner decides about the order of work and how Groups share it. "
        "A missing file means the defaults; an unknown key is refused, and the nearest known one is named. Change it "
        "with `metagit-mcp schedule policy set`, with the tool `metagit_schedule_policy`, or in an editor: each answer "
        "follows the file as it is.",
        table(("key", "type", "default", "set by", "metagit", "meaning"), policy_rows()),
        "**set by**: keys of RFC-0012 order the work inside a graph, and an agent may set them. The others are "
        "Organization policy: they need `--operator NAME`, or a person at a terminal who types the key's name.\n\n"
        "**metagit**: whether the metagit command line keeps the key when it rewrites the file. What it drops stays in "
        "force: `kept.json` beside the file remembers it, and a warning names it, until you set it again or write an "
        "explicit `null`.\n\n"
        "Weights and the penalty count to six decimal places; more are rounded half-even, with a warning. The revision "
        "is the first 12 hexadecimal digits of the SHA-256 of the policy in force; `$schema` is allowed and ignored. "
        "The full schema is `schemas/policy.schema.json`.",
    )


# --- reasons ---------------------------------------------------------------------------------------------------


def example_score_reasons() -> list[str]:
    """Return the strings of a score that has every factor, as the code makes them."""
    node = TaskNode(node_id="a", priority=3, estimated_tokens=1000, requested_urgency="high")
    scored = Scored(
        weights=MicroWeights(**dict.fromkeys((each.name for each in fields(MicroWeights)), 1_000_000)),
        rank=1,
        top_rank=2,
        due_soon=True,
        terms=RepositoryTerms(warm=True, under_represented=True, merge_depth=4, pressured=True),
        penalty=2_000_000,
    )
    return [*reasons(node, scored, SchedulePolicy()), "passed_over=20", "skipped_due_to_merge_pressure"]


def reasons_page() -> str:
    """Why a node may not run, and what its score is made of."""
    kinds = get_args(ReasonKind)
    refuse_drift("REASONS", wording.REASONS, kinds)
    strings = {text.partition("=")[0].partition(" ")[0]: text for text in example_score_reasons()}
    refuse_drift("SCORE_REASONS", wording.SCORE_REASONS, strings)
    against = [(str(place), code(kind), *wording.REASONS[kind]) for place, kind in enumerate(kinds, start=1)]
    waiting = [
        (code(f"not_ready({detail})"), text, yes(waits_for_person(Reason(kind="not_ready", detail=detail))))
        for detail, text in wording.WAITING.items()
    ]
    return page(
        "Reasons",
        "## Why a node may not start",
        "A node may start exactly when none of these holds. All that hold are named, in this order; the first is the "
        "one that is counted in `not_eligible`. Details are ids and numbers. Text that a person wrote stands apart, in "
        "`note`.",
        "A refused start, and an answer about one graph (`graph_id`), tells nothing of other Groups: a detail then "
        "names who is in the way only where that is of the same Group, and has figures of the policy in place of what "
        "is in use, as `no_slot(limit 3)` for `no_slot(3/3)`. Without `graph_id` the status says all of it.",
        table(("", "reason", "what is the matter", "ended by"), against),
        "The details of `not_ready`, and whether only a person can end them (such nodes are listed in `needs_person`):",
        table(("reason", "what is the matter", "only a person"), waiting),
        "## What a score is made of",
        "`reasons` of a decision are short, stable strings in this order. The same facts stand as numbers in "
        "`factors`, each with value, weight and contribution.",
        table(("example", "meaning"), [(code(text), wording.SCORE_REASONS[name]) for name, text in strings.items()]),
    )


# --- schemas ---------------------------------------------------------------------------------------------------


def schemas_page() -> str:
    """The published schemas."""
    rows = [
        (f"[`{name}`](../../schemas/{name}.schema.json)", sentence(schema_of(name)["description"]))
        for name in schema_names()
    ]
    return page(
        "JSON Schemas",
        "Every document and every tool has a JSON Schema (draft 2020-12) in `schemas/`, made from the types that read "
        "and write it. `metagit-mcp schemas export FOLDER` writes them anywhere; `metagit-mcp schemas check FOLDER` "
        "fails when a folder differs from the program. What tools list over MCP is a narrower subset of the same: no "
        "references, unions or nulls, because some hosts refuse these.",
        "[`openapi.json`](../../schemas/openapi.json) describes the [HTTP routes](http.md), and holds the schemas that "
        "it needs.",
        table(("schema", "of what"), rows),
    )
