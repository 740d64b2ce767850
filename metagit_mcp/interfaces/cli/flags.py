"""Flags of the commands: the shared ones, and those made from a request so that a tool's twin has just its arguments.

It must not check values: `wire.requests` reads them, so that both twins refuse the same things in the same words.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

import click

from metagit_mcp.domain.text import shown
from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.cli.invocation import Invocation

F = TypeVar("F", bound=Callable[..., Any])
Given = str | list[str] | None

# Sentences may have commas; the items of every other list are names, which have none.
_SENTENCES: Final = frozenset({"acceptance"})
_FILE_LIMIT: Final = 8 * 1024 * 1024
# The flags whose values are ids that the workspace knows.
_OF_IDS: Final = frozenset({"--graph-id", "--after-group", "--node-id", "--agent-id", "--group-id"})


def example(*lines: str) -> str:
    """Return the epilog of a command's help: examples, one a line."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


# --- shared flags --------------------------------------------------------------------------------------------------


def workspace_flag(command: F) -> F:
    """Add `--workspace`, which every level accepts."""
    help_text = "Root of the workspace; default: METAGIT_WORKSPACE, else found from this folder upward."
    flag = click.option("--workspace", metavar="PATH", help=help_text, expose_value=False, callback=_remember_workspace)
    return flag(command)


def json_flag(command: F) -> F:
    """Add `--json`, which every level accepts."""
    help_text = "Print one line of JSON, also for an error: the same as the MCP tool answers."
    flag = click.option("--json", is_flag=True, help=help_text, expose_value=False, callback=_remember_json)
    return flag(command)


def shared_flags(command: F) -> F:
    """Add `--workspace` and `--json`."""
    return workspace_flag(json_flag(command))


def _remember_workspace(ctx: click.Context, param: click.Parameter, given: str | None) -> None:
    invocation = ctx.find_object(Invocation)
    if given is not None and invocation is not None:
        invocation.workspace = _not_empty(ctx, param, given)


def _remember_json(ctx: click.Context, _: click.Parameter, given: bool) -> None:
    invocation = ctx.find_object(Invocation)
    if given and invocation is not None:
        invocation.as_json = True


def text_flag(name: str, help_text: str, metavar: str = "TEXT") -> Callable[[F], F]:
    """Return a flag with one value, refused when it is empty."""
    completed = known_ids if name in _OF_IDS else None
    return click.option(name, metavar=metavar, help=help_text, callback=_not_empty, shell_complete=completed)


def known_ids(context: click.Context, parameter: click.Parameter, prefix: str) -> list[str]:
    """Return the ids that a shell may complete; a run that completes nothing loads none of it."""
    from metagit_mcp.interfaces.cli.known_ids import ids_known

    return ids_known(context, parameter, prefix)


def _one_of(words: tuple[str, ...]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return what completes one of these words."""
    return lambda _context, _parameter, prefix: [word for word in words if word.startswith(prefix)]


def names_flag(name: str, help_text: str) -> Callable[[F], F]:
    """Return a flag with a list of names: repeated, or separated by commas."""
    return click.option(name, metavar="NAME,...", multiple=True, help=help_text, callback=_names)


def graph_flag(command: F) -> F:
    """Add `--graph-id`."""
    return text_flag("--graph-id", "Only this task graph (Group).")(command)


def operator_flag(command: F) -> F:
    """Add `--operator`."""
    help_text = "Who vouches for it; needed without a terminal, where nobody can be asked."
    return text_flag("--operator", help_text, "NAME")(command)


# --- flags of a request --------------------------------------------------------------------------------------------


def request_flags(shape: type[Any], *, without: frozenset[str] = frozenset()) -> Callable[[F], F]:
    """Return a decorator that adds a flag for each field of a request: its name with dashes, its description."""

    def decorate(command: F) -> F:
        for each in reversed(fields(shape)):
            if each.name not in without:
                command = _request_flag(each)(command)
        return command

    return decorate


def _request_flag(each: Field[Any]) -> Callable[[F], F]:
    kind = _without_none(each.type)
    name = f"--{each.name.replace('_', '-')}"
    help_text = str(each.metadata.get("description", ""))
    if each.default not in (MISSING, None, False):
        help_text += f" [default: {each.default}]"
    if kind is bool:
        # The value may be left out: --preview is --preview true.
        return click.option(name, is_flag=False, flag_value="true", metavar="[true|false]", help=help_text)
    if get_origin(kind) is tuple:
        if each.name not in _SENTENCES:
            return names_flag(name, help_text)
        return click.option(name, multiple=True, metavar="TEXT", help=help_text, callback=_items)
    if get_origin(kind) is Literal:
        words = tuple(map(str, get_args(kind)))
        metavar = f"[{'|'.join(words)}]"
        return click.option(name, metavar=metavar, help=help_text, callback=_not_empty, shell_complete=_one_of(words))
    return text_flag(name, help_text, _METAVARS.get(kind, "TEXT"))


def _without_none(annotation: Any) -> Any:  # noqa: ANN401 - annotations have no type
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    return next(arm for arm in get_args(annotation) if arm is not NoneType)


_METAVARS: Final[dict[Any, str]] = {int: "INTEGER", float: "NUMBER"}


def _not_empty(_: click.Context, param: click.Parameter, given: str | None) -> str | None:
    """Refuse an empty value: `--graph-id "$GRAPH"` without GRAPH must not mean every graph."""
    if given == "":
        raise InvalidInput(f"{param.opts[0]} is empty", hint="Leave it out, or give it a value.", field=param.name)
    return given


def _items(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> Given:
    for item in given:
        _not_empty(ctx, param, item)
    if len(given) == 1 and given[0].lstrip().startswith("["):
        return given[0]
    return list(given) or None


def _names(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> Given:
    items = _items(ctx, param, given)
    if not isinstance(items, list):
        return items
    return [name.strip() for item in items for name in item.split(",") if name.strip()]


def text_flags(texts: Mapping[str, str]) -> Callable[[F], F]:
    """Return a decorator that adds a flag for each object of a request: JSON, or a file with it (`texts_from`)."""

    def decorate(command: F) -> F:
        for name, help_text in reversed(list(texts.items())):
            command = text_flag(f"--{name.replace('_', '-')}", help_text, "JSON|@FILE|-")(command)
        return command

    return decorate


# --- node and files ------------------------------------------------------------------------------------------------


def node_argument(command: F) -> F:
    """Add the node, as an argument or as `--node-id` like the tool; `chosen_node` reads both."""
    command = text_flag("--node-id", "The same as NODE.", "NODE")(command)
    return click.argument("node", required=False, shell_complete=known_ids)(command)


def chosen_node(node: str | None, node_id: str | None) -> str:
    """Return the node that an argument or `--node-id` names.

    Raises:
        InvalidInput: neither does, or they differ.
    """
    return _chosen("node", node, node_id)


def lease_argument(command: F) -> F:
    """Add the lease, as an argument or as `--lease-id` like the tool; `chosen_lease` reads both."""
    command = text_flag("--lease-id", "The same as LEASE.", "LEASE")(command)
    return click.argument("lease", required=False)(command)


def chosen_lease(lease: str | None, lease_id: str | None) -> str:
    """Return the lease that an argument or `--lease-id` names.

    Raises:
        InvalidInput: neither does, or they differ.
    """
    return _chosen("lease", lease, lease_id)


def _chosen(noun: str, argument: str | None, flag: str | None) -> str:
    place, name, field = noun.upper(), f"--{noun}-id", f"{noun}_id"
    if not argument and not flag:
        raise InvalidInput(f"no {noun} is named", hint=f"Name it: {place} or {name} {place}.", field=field)
    if argument and flag and argument != flag:
        raise InvalidInput(f"{place} and {name} name two different {noun}s", field=field)
    return argument or str(flag)


def texts_from(flags: Mapping[str, Any], names: Iterable[str]) -> dict[str, str | None]:
    """Return what the flags that `text_flags` added stand for."""
    return {name: text_from(flags.get(name), name) for name in names}


def text_from(given: str | None, field: str) -> str | None:
    """Return the text that a flag stands for: `@FILE` is read, `-` and `@-` are standard input."""
    if given is None:
        return None
    if given in {"-", "@-"}:
        return _decoded(b"" if sys.stdin is None else sys.stdin.buffer.read(_FILE_LIMIT + 1), field)
    if given.startswith("@"):
        return _decoded(_file_start(given[1:], field), field)
    if given.endswith(".json"):
        flag = f"--{field.replace('_', '-')}"
        hint = f"Did you mean {flag} @{shown(given, 80)}? A file is named with @ before it."
        raise InvalidInput(f"{field}: a file name is no JSON", hint=hint, field=field)
    return given


_ONE_TASK: Final = """For one task: --nodes '[{"title": "..."}]', or --outline - and the line on standard input."""


def _file_start(path: str, field: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib would be loaded at every start
            return file.read(_FILE_LIMIT + 1)
    except FileNotFoundError:
        hint = _ONE_TASK if field == "outline" else ""
        raise InvalidInput(f"{field}: there is no file '{shown(path, 80)}'", hint=hint, field=field) from None
    except (OSError, ValueError) as cause:
        why = getattr(cause, "strerror", None) or "it is no file name"
        raise InvalidInput(f"{field}: the file cannot be read: {why}", field=field) from None


def _decoded(raw: bytes, field: str) -> str:
    if len(raw) > _FILE_LIMIT:
        raise InvalidInput(f"{field}: the text is longer than {_FILE_LIMIT} bytes", field=field)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise InvalidInput(f"{field}: byte {cause.start} is not UTF-8", field=field) from None
