"""Writes the generated pages of docs/reference from the code, or with --check says where they differ from it.

The text is the code's own: docstrings, schema descriptions, the help of commands; `wording.py` holds what these lack.
It must not read a workspace.
"""

import argparse
import difflib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import click
import wording

from metagit_mcp import errors
from metagit_mcp.domain.policy import FOREIGN_WEIGHTS, RFC_KEYS, MicroWeights, SchedulePolicy
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.interfaces.cli.exits import EXIT_CODES
from metagit_mcp.interfaces.cli.main import PROGRAM, cli
from metagit_mcp.interfaces.mcp.tools import TOOLS, ToolEntry
from metagit_mcp.scheduling.eligibility import Reason, ReasonKind, waits_for_person
from metagit_mcp.scheduling.scoring import RepositoryTerms, Scored, reasons
from metagit_mcp.wire.portable import input_schema
from metagit_mcp.wire.schemas import schema_names, schema_of

FOLDER = Path(__file__).resolve().parent / "reference"
HEAD = "<!-- Made by docs/generate.py from the code: change it there, then run `make docs`. -->"
Row = Sequence[str]
Json = dict[str, Any]

# --- markdown ------------------------------------------------------------------------------------------------------


def table(header: Row, rows: Iterable[Row]) -> str:
    """Return a table; a bar inside a cell is escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(text: object) -> str:
    """Return text as it is typed."""
    return f"`{text}`"


def page(title: str, *parts: str) -> str:
    """Return a whole page."""
    return "\n\n".join([HEAD, f"# {title}", *(part for part in parts if part)]) + "\n"


def told(shape: object) -> str:
    """Return what a docstring says, on one line, without its argument lists."""
    return " ".join((inspect.getdoc(shape) or "").split("\n\n")[0].split())


# --- errors ----------------------------------------------------------------------------------------------------------


def error_classes() -> list[type[errors.MetagitError]]:
    """Return every deliberate error, in the order of the file."""
    return [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.MetagitError) and each is not errors.MetagitError
    ]


def errors_page() -> str:
    """The error codes."""
    rows = [
        (code(each.code), told(each), "yes" if each.retryable else "no", str(EXIT_CODES[each.code]))
        for each in error_classes()
    ]
    return page(
        "Error codes",
        "A refused call is an error record, the same over MCP (a tool result with `isError`) and with `--json` on the "
        "command line: `code`, `message`, `hint` (what to do now), `details` (ids, numbers and field names, never file "
        "content) and `retryable` (whether the same call may succeed later unchanged). Branch on `code`; the wording of "
        "messages may change.",
        table(("code", "meaning", "retryable", "exit code"), rows),
        "`retryable` of a single error may be `false` where this table says yes: a file that is a folder, or a link out "
        "of the workspace, stays one. Over MCP, a call of a tool that is not there is a protocol error (-32602), because "
        "the host decides which tools there are.",
    )


# --- tools -----------------------------------------------------------------------------------------------------------


def kind_of(annotation: Any) -> str:  # noqa: ANN401 - annotations have no type
    """Return the JSON kind of a field, with a link where the kind is a record of this page."""
    plain = without_none(annotation)
    origin, arguments = get_origin(plain), get_args(plain)
    if is_dataclass(plain):
        return f"[{plain.__name__}](#{plain.__name__.lower()})"
    if origin is tuple:
        return f"list of {kind_of(arguments[0])}"
    if origin is Literal:
        return ", ".join(map(code, arguments))
    names = {str: "text", int: "integer", float: "number", bool: "true or false", datetime: "instant"}
    return names.get(plain, "object")


def without_none(annotation: Any) -> Any:  # noqa: ANN401 - annotations have no type
    """Return the annotation without `None`."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    return next(arm for arm in get_args(annotation) if arm is not NoneType)


def presence(name: str, optional: bool) -> str:  # noqa: FBT001 - a word of the table
    """Return a field's name, marked when it may be absent."""
    return f"{code(name)}{' ?' if optional else ''}"


def record_rows(shape: type[Any]) -> Iterator[Row]:
    """Yield name and kind of each field of a record."""
    hints = get_type_hints(shape)
    for each in fields(shape):
        yield presence(each.name, each.default is None), kind_of(hints[each.name])


def records_of(shape: type[Any], found: dict[str, type[Any]]) -> None:
    """Collect the records that a record holds, in the order in which a reader meets them."""
    for hint in get_type_hints(shape).values():
        inner = without_none(hint)
        inner = get_args(inner)[0] if get_origin(inner) is tuple else inner
        if is_dataclass(inner) and inner.__name__ not in found:
            found[inner.__name__] = inner
            records_of(inner, found)


def answer_rows(shape: type[Any]) -> Iterator[Row]:
    """Yield the top-level fields of an answer."""
    for name, kind in record_rows(shape):
        yield name, kind, wording.ANSWER_FIELDS[name.split("`")[1]]


def bounds_of(schema: Mapping[str, Any]) -> str:
    """Return type and limits of a JSON Schema in words."""
    if "enum" in schema:
        return ", ".join(code(each) for each in schema["enum"])
    kind = {"string": "text", "array": "list", "boolean": "true or false"}.get(schema["type"], schema["type"])
    if kind == "list":
        items = schema["items"]
        kind = "list of " + ("records" if items["type"] == "object" else bounds_of(items))
    if "minimum" in schema:
        return f"{kind}, {schema['minimum']:g} to {schema['maximum']:,}"
    return f"{kind}, at most {schema['maxLength']:,} characters" if "maxLength" in schema else kind


def argument_rows(schema: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the arguments of a tool."""
    required = schema.get("required", ())
    for name, each in schema["properties"].items():
        default = "required" if name in required else shown_default(each)
        yield code(name), bounds_of(each), default, each.get("description", "")


def shown_default(schema: Mapping[str, Any]) -> str:
    """Return the default of a JSON Schema; nothing where absence is the default."""
    default = schema.get("default")
    if default is None or default == []:
        return ""
    text = str(default).lower() if isinstance(default, bool) else default
    return ", ".join(map(code, default)) if isinstance(default, list) else code(text)


def tool_part(entry: ToolEntry) -> str:
    """One tool."""
    schema = input_schema(entry.request)
    effects = entry.effects
    parts = [
        f"## {entry.name}",
        f"**{entry.title}.** {entry.description}",
        f"Toolset `{entry.toolset}` · read only: {yes(effects.read_only)} · destructive: {yes(effects.destructive)} · "
        f"idempotent: {yes(effects.idempotent)} · open world: no",
        table(("argument", "type", "default", "meaning"), argument_rows(schema)),
    ]
    for name, each in schema["properties"].items():
        if each["type"] == "array" and each["items"]["type"] == "object":
            parts += [
                f"Each of `{name}`:",
                table(("field", "type", "default", "meaning"), argument_rows(each["items"])),
            ]
    parts += ["It answers:", table(("field", "type", "meaning"), answer_rows(entry.answer))]
    return "\n\n".join(parts)


def yes(flag: bool) -> str:  # noqa: FBT001 - turns it into a word
    """Return a flag as a word."""
    return "yes" if flag else "no"


def tools_page() -> str:
    """The MCP tools."""
    known = {each.name for entry in TOOLS for each in fields(entry.answer)}
    refuse_drift("ANSWER_FIELDS", wording.ANSWER_FIELDS, known)
    records: dict[str, type[Any]] = {}
    for entry in TOOLS:
        records_of(entry.answer, records)
    told_records = [
        f"### {name}\n\n{told(shape)}\n\n{table(('field', 'type'), record_rows(shape))}"
        for name, shape in records.items()
    ]
    return page(
        "MCP tools",
        "Every tool answers with structured content and the same JSON as text; its twin on the "
        "[command line](cli.md) prints that JSON with `--json`. An empty string or null counts as absent, and a JSON "
        "string is accepted where a list is expected. Unknown arguments are refused by name. Times are RFC 3339 in UTC; "
        "what is none is absent, except in `policy`, which has the shape of policy.json.",
        *map(tool_part, TOOLS),
        "## Records\n\nFields marked with ? are absent when there is nothing to say.",
        *told_records,
    )


# --- command line ----------------------------------------------------------------------------------------------------


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield a command and all below it, by their full names."""
    ctx = click.Context(command, info_name=name)
    yield name, command, ctx
    if isinstance(command, click.Group):
        for each in command.list_commands(ctx):
            below = command.get_command(ctx, each)
            if below is not None:
                yield from commands(below, f"{name} {each}")


def paragraphs(text: str) -> str:
    """Return help text with each paragraph on one line."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


def option_rows(command: click.Command, ctx: click.Context) -> Iterator[Row]:
    """Yield the options of a command, without those that every command has."""
    for each in command.params:
        if isinstance(each, click.Option) and each.opts[0] not in {"--workspace", "--json", "--version"}:
            metavar = "" if each.is_flag else f" {each.make_metavar(ctx)}"
            yield code(f"{', '.join(each.opts)}{metavar}"), each.help or ""


def command_part(name: str, command: click.Command, ctx: click.Context) -> str:
    """One command."""
    usage = " ".join([name, *command.collect_usage_pieces(ctx)])
    rows = list(option_rows(command, ctx))
    examples = [line.strip() for line in (command.epilog or "").splitlines()[2:]]
    parts = [f"## {name}", paragraphs(command.help or ""), f"```text\n{usage}\n```"]
    parts += [table(("option", "meaning"), rows)] if rows else []
    parts += ["```sh\n" + "\n".join(examples) + "\n```"] if examples else []
    return "\n\n".join(parts)


def cli_page() -> str:
    """The commands."""
    every = list(commands(cli, PROGRAM))
    shared = [each for each in cli.params if each.opts[0] in {"--workspace", "--json"}]
    rows = [
        (code(f"{each.opts[0]}{'' if each.is_flag else f' {each.metavar}'}"), each.help or "")
        for each in shared
        if isinstance(each, click.Option)
    ]
    return page(
        "Command line",
        paragraphs(cli.help or ""),
        "Every command takes these, before or after its own name, and `-h, --help`:",
        table(("option", "meaning"), rows),
        *(command_part(*each) for each in every if not isinstance(each[1], click.Group)),
    )


# --- policy ----------------------------------------------------------------------------------------------------------


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


def leaves(path: str, schema: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the keys below a key of the policy, by their dotted names; a map's own keys stand as <id>."""
    if "$ref" in schema:
        for name, each in known[schema["$ref"].rpartition("/")[2]]["properties"].items():
            yield from leaves(f"{path}.{name}", each, known)
    elif isinstance(schema.get("additionalProperties"), dict):
        key = "<pattern>" if path == "agents" else "<graph_id>"
        yield from leaves(f"{path}.{key}", schema["additionalProperties"], known)
    else:
        yield path, schema


def policy_page() -> str:
    """The keys of the policy."""
    return page(
        "policy.json",
        "`.metagit/schedule/policy.json` holds what an owner decides about the order of work. A missing file means the "
        "defaults; an unknown key is refused, and the nearest known one is named. Change it with `metagit-mcp schedule "
        "policy set`, with the tool `metagit_schedule_policy`, or in an editor: each answer follows the file as it is.",
        table(("key", "type", "default", "set by", "metagit", "meaning"), policy_rows()),
        "**set by**: keys of RFC-0012 order the work inside a graph, and an agent may set them. The others are "
        "Organization policy: they need `--operator NAME`, or a person at a terminal who types the key's name.\n\n"
        "**metagit**: whether the metagit command line keeps the key when it rewrites the file. What it drops stays in "
        "force: `kept.json` beside the file remembers it, with a warning that names it, until you set it again or write "
        "an explicit `null`.\n\n"
        "Weights and the penalty count to six decimal places; more are rounded half-even, with a warning. The revision "
        "is the first 12 hexadecimal digits of the SHA-256 of the policy in force; `$schema` is allowed and ignored. "
        "The full schema is `schemas/policy.schema.json`.",
    )


# --- reasons -----------------------------------------------------------------------------------------------------------


def refuse_drift(table_name: str, written: Iterable[str], known: Iterable[str]) -> None:
    """Stop when a table of `wording.py` has other names than the code."""
    difference = sorted(set(written) ^ set(known))
    if difference:
        sys.exit(f"docs/wording.py: {table_name} and the code differ in: {', '.join(difference)}")


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
    return [*reasons(node, scored, SchedulePolicy()), "skipped_due_to_merge_pressure"]


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
        table(("", "reason", "what is the matter", "ended by"), against),
        "The details of `not_ready`, and whether only a person can end them (such nodes are listed in `needs_person`):",
        table(("reason", "what is the matter", "only a person"), waiting),
        "## What a score is made of",
        "`reasons` of a decision are short, stable strings in this order. The same facts stand as numbers in `factors`, "
        "each with value, weight and contribution.",
        table(("example", "meaning"), [(code(text), wording.SCORE_REASONS[name]) for name, text in strings.items()]),
    )


# --- schemas -----------------------------------------------------------------------------------------------------------


def schemas_page() -> str:
    """The published schemas."""
    rows = [
        (f"[`{name}`](../../schemas/{name}.schema.json)", schema_of(name).get("description", ""))
        for name in schema_names()
    ]
    return page(
        "JSON Schemas",
        "Every document and every tool has a JSON Schema (draft 2020-12) in `schemas/`, made from the types that read "
        "and write it. `metagit-mcp schemas export FOLDER` writes them anywhere; `metagit-mcp schemas check FOLDER` "
        "fails when a folder differs from the program. What tools list over MCP is a narrower subset of the same: no "
        "references, unions or nulls, because some hosts refuse these.",
        table(("schema", "of what"), rows),
    )


# --- pages -------------------------------------------------------------------------------------------------------------

PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "errors.md": errors_page,
    "policy.md": policy_page,
    "reasons.md": reasons_page,
    "schemas.md": schemas_page,
    "tools.md": tools_page,
}


def differences() -> Iterator[str]:
    """Yield where the pages differ from the code, as a diff."""
    for name, render in PAGES.items():
        path = FOLDER / name
        found = path.read_text(encoding="utf-8") if path.is_file() else ""
        yield from difflib.unified_diff(
            found.splitlines(), render().splitlines(), f"docs/reference/{name}", "the code", lineterm="", n=1
        )


def main() -> int:
    """Write the pages, or check them; return the exit code."""
    parser = argparse.ArgumentParser(description="Writes the generated pages of docs/reference from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page differs from the code")
    if parser.parse_args().check:
        different = list(differences())
        print("\n".join([*different, "Run: make docs"]) if different else "docs/reference is current")
        return 1 if different else 0
    FOLDER.mkdir(exist_ok=True)
    for name, render in PAGES.items():
        (FOLDER / name).write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
