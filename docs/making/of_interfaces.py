"""The pages about what callers see: error codes, tools and commands. It must not say what a rule means."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import click
from making import wording
from making.markdown import Row, bounds_of, code, page, refuse_drift, shown_default, table, told, yes
from making.records import record_parts, record_rows, records_of
from mcp.types import Prompt

from metagit_mcp import errors
from metagit_mcp.interfaces.cli.exits import EXIT_CODES
from metagit_mcp.interfaces.cli.main import PROGRAM, cli
from metagit_mcp.interfaces.mcp.prompts import prompts
from metagit_mcp.interfaces.mcp.tools import TOOLS, ToolEntry
from metagit_mcp.interfaces.mcp.uris import resources, templates
from metagit_mcp.settings import DEFAULT_TOOLSETS, TOOLSETS
from metagit_mcp.wire.http.http_status import status_of
from metagit_mcp.wire.portable import input_schema

# --- errors ----------------------------------------------------------------------------------------------------


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
        (code(each.code), told(each), yes(each.retryable), str(EXIT_CODES[each.code]), str(status_of(each.code)))
        for each in error_classes()
    ]
    return page(
        "Error codes",
        "A refused call is an error record, the same over MCP (a tool result with `isError`) and with `--json` on the "
        "command line: `code`, `message`, `hint` (what to do now), `details` (ids, numbers and field names, never file "
        "content) and `retryable` (whether the same call may succeed later unchanged). Branch on `code`; messages may "
        "be worded anew.",
        table(("code", "meaning", "retryable", "exit code", "HTTP status"), rows),
        "`retryable` of a single error may be `false` where this table says yes: a file that is really a folder, or a "
        "link out of the workspace, stays one. Over MCP, a call of a tool that is not there is a protocol error "
        "(-32602), because the host decides which tools there are.",
    )


# --- tools -----------------------------------------------------------------------------------------------------


def answer_rows(shape: type[Any]) -> Iterator[Row]:
    """Yield the top-level fields of an answer."""
    for name, kind in record_rows(shape):
        yield name, kind, wording.ANSWER_FIELDS[name.split("`")[1]]


def argument_rows(schema: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the arguments of a tool."""
    required = schema.get("required", ())
    for name, each in schema["properties"].items():
        default = "required" if name in required else shown_default(each)
        yield code(name), bounds_of(each), default, each.get("description", "")


def tool_part(entry: ToolEntry) -> str:
    """One tool."""
    schema = input_schema(entry.request)
    parts = [
        f"## {entry.name}",
        f"**{entry.title}.** {entry.description}",
        effects_line(entry),
        table(("argument", "type", "default", "meaning"), argument_rows(schema)),
    ]
    for name, each in schema["properties"].items():
        if each["type"] == "array" and "properties" in each["items"]:
            parts += [
                f"Each of `{name}`:",
                table(("field", "type", "default", "meaning"), argument_rows(each["items"])),
            ]
    parts += ["It answers:", table(("field", "type", "meaning"), answer_rows(entry.answer))]
    return "\n\n".join(parts)


def effects_line(entry: ToolEntry) -> str:
    """The annotations of a tool: what a call may do."""
    effects = {
        "read only": entry.effects.read_only,
        "destructive": entry.effects.destructive,
        "idempotent": entry.effects.idempotent,
        "open world": False,
    }
    return f"Toolset `{entry.toolset}` · " + " · ".join(f"{name}: {yes(flag)}" for name, flag in effects.items())


def toolsets() -> str:
    """The toolsets that a server offers unless told otherwise."""
    return " and ".join(code(name) for name in TOOLSETS if name in DEFAULT_TOOLSETS)


def prompt_row(prompt: Prompt) -> Row:
    """One prompt."""
    arguments = (f"{code(each.name)}: {each.description}" for each in prompt.arguments or ())
    return code(prompt.name), prompt.description or "", "; ".join(arguments)


def resource_rows() -> Iterator[Row]:
    """Every resource, by its URI."""
    named = [(each.uri, each.description) for each in resources(TOOLSETS)]
    kinds = [(each.uri_template, each.description) for each in templates(TOOLSETS)]
    for uri, description in sorted([*named, *kinds]):
        yield code(uri), description or ""


RESOURCES_TOLD = (
    "A host that subscribes is told within a second that one of them is other than before, whoever changed it: an"
    " agent, another server, the command line, an edit of a file. It is told that, and reads anew. Since "
    "2026-07-28 that is `subscriptions/listen`; before, `resources/subscribe` and "
    "`notifications/resources/updated`. An agent that is asked to pause hears it by `metagit://status`, whose "
    "`running` says `preempt_requested`. What time alone changes, such as the end of a pause, is told too; signs "
    "of life, which only renew a lease, are not. Over the network a caller hears of what it may read: a "
    "coordinator of its own Group, and the URI of anything else is taken like one of what is not there, and never"
    " told. The end of a token is the end of its subscriptions. There are at most 256 resources to a stream, 256 "
    "streams to a caller and 1,024 to a server."
)


def tools_page() -> str:
    """The MCP tools."""
    known = {each.name for entry in TOOLS for each in fields(entry.answer)}
    refuse_drift("ANSWER_FIELDS", wording.ANSWER_FIELDS, known)
    records: dict[str, type[Any]] = {}
    for entry in TOOLS:
        records_of(entry.answer, records)
    return page(
        "MCP tools",
        "Every tool answers with structured content and the same JSON as text; its twin on the "
        "[command line](cli.md) prints that JSON with `--json`. An empty string or null counts as absent, and a JSON "
        "string is accepted where a list is expected. Unknown arguments are refused by name. Times are RFC 3339 in "
        "UTC; what is none is absent, except in `policy`, which has the shape of policy.json.",
        f"A server offers the toolsets {toolsets()}; `--toolsets` names others.",
        *map(tool_part, TOOLS),
        "## Prompts",
        table(("prompt", "what it is for", "arguments"), map(prompt_row, prompts(TOOLSETS))),
        "## Resources\n\nWhat can be read without a call of a tool, as JSON: those of Groups in a server with the "
        "toolset `groups`, the others in one with `schedule`. Ids are percent-encoded. What grows too large is cut, "
        "and says so; a schema never is. No list says which graphs and Groups there are: completions do, to "
        "those who may know.",
        table(("resource", "what it is"), resource_rows()),
        RESOURCES_TOLD,
        "## Records\n\nFields marked with ? are absent when there is nothing to say.",
        *record_parts(records),
    )


# --- command line ----------------------------------------------------------------------------------------------


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
