"""What can be read, under which URIs: `metagit://policy`, `metagit://graphs/{graph_id}` and so on. Reads nothing.

Ids are percent-encoded. What is no id is refused here, before anything is asked: an id is no path anywhere.
"""

from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import unquote

from mcp import types

from metagit_mcp.application.news.topics import Kind, Topic
from metagit_mcp.domain.text import is_any_id
from metagit_mcp.wire.schemas import schema_names

JSON: Final = "application/json"
SCHEMA_JSON: Final = "application/schema+json"
_SCHEME: Final = "metagit://"
_OUTBOX: Final = "outbox"
# Kind → its toolset, and what hosts are shown.
_WHOLE: Final[Mapping[Kind, tuple[str, str]]] = {
    "decisions": ("Decisions", "The newest decisions, newest first: which node was offered or taken, and why."),
    "policy": ("Policy", "The policy in force, with its revision."),
    "status": (
        "Status",
        "How things stand: what runs and who is asked to pause, what waits for a person, how Groups stand.",
    ),
}
_PARTS: Final[tuple[tuple[str, str, str, str, str], ...]] = (
    ("schedule", "graphs/{graph_id}", "graph", "A task graph", "One task graph or Group with its nodes."),
    (
        *("groups", "groups/{group_id}", "group", "How a Group stands"),
        "Of a Group fed by Events: its Cursor, what is held and missing, its WorkItems by state.",
    ),
    (
        *("groups", f"groups/{{group_id}}/{_OUTBOX}", "group_outbox", "What a Group is to be asked for"),
        "The Commands to send to a Group fed by Events, oldest first; each stays as it is until answered.",
    ),
    ("schedule", "schemas/{name}", "schema", "A JSON Schema", "The whole JSON Schema of an answer, file or argument."),
)


def resources(toolsets: Collection[str]) -> tuple[types.Resource, ...]:
    """Return what can be read without an id, of a server with these toolsets."""
    if "schedule" not in toolsets:
        return ()
    return tuple(
        types.Resource(uri=_SCHEME + kind, name=kind, title=title, description=told, mime_type=JSON)
        for kind, (title, told) in _WHOLE.items()
    )


def templates(toolsets: Collection[str]) -> tuple[types.ResourceTemplate, ...]:
    """Return what can be read by id, of a server with these toolsets."""
    return tuple(
        types.ResourceTemplate(
            uri_template=_SCHEME + path,
            name=name,
            title=title,
            description=told,
            mime_type=SCHEMA_JSON if name == "schema" else JSON,
        )
        for toolset, path, name, title, told in _PARTS
        if toolset in toolsets
    )


def topic_of(uri: str, toolsets: Collection[str]) -> Topic | None:
    """Return what a URI names, whether it is there or not; None if it names nothing that could be there."""
    if not uri.startswith(_SCHEME):
        return None
    word, *rest = uri.removeprefix(_SCHEME).split("/")
    # What is no UTF-8 becomes a mark that no id has.
    names = [unquote(rest[0]), *rest[1:]] if rest else []
    topic = _topic(word, names)
    toolset = "groups" if word == "groups" else "schedule"
    return topic if toolset in toolsets else None


def _topic(word: str, names: list[str]) -> Topic | None:
    match word, names:
        case (("policy" | "status" | "decisions"), []):
            return Topic(kind=word)
        case "schemas", [name] if name in schema_names():
            return Topic(kind="schema", name=name)
        case "graphs", [name] if is_any_id(name):
            return Topic(kind="graph", name=name)
        case "groups", [name] if is_any_id(name):
            return Topic(kind="group", name=name)
        case "groups", [name, part] if is_any_id(name) and part == _OUTBOX:
            return Topic(kind="outbox", name=name)
    return None
