"""The page about the HTTP routes, from the table that the OpenAPI document is made of. It must not know a handler."""

from collections.abc import Iterator

from making.markdown import Row, code, page, table

from metagit_mcp.wire.codec import adapter
from metagit_mcp.wire.http.openapi import roles_of
from metagit_mcp.wire.http.openapi_operations import OPERATIONS, TAGS, Operation


def route_rows(tag: str) -> Iterator[Row]:
    """Yield the routes with a tag."""
    for each in OPERATIONS:
        if each.tag == tag:
            roles = "anybody" if each.act is None else ", ".join(roles_of(each.act))
            yield f"`{each.method.upper()} {each.path}`", each.summary, sent(each), answered(each), roles


def sent(each: Operation) -> str:
    """What a request holds."""
    if each.body is not None:
        return code(each.body.__name__)
    if each.query is None:
        return ""
    names = adapter(each.query).json_schema()["properties"]
    return ", ".join(map(code, names))


def answered(each: Operation) -> str:
    """What a successful answer is."""
    if each.answer is not None:
        return code(each.answer.__name__)
    return {"application/json": "JSON", None: "nothing"}.get(each.media, each.media or "")


def http_page() -> str:
    """The HTTP routes."""
    parts = [
        f"## {tag.capitalize()}\n\n{told}\n\n"
        + table(("route", "what it does", "query or body", "answer", "roles"), route_rows(tag))
        for tag, told in TAGS.items()
    ]
    return page(
        "HTTP routes",
        "Beside MCP at `/mcp`. `GET /v1/openapi.json` describes all of this in OpenAPI 3.1, without a token; it is "
        "[published](../../schemas/openapi.json) beside the schemas. How to use them: "
        "[Call it over HTTP](../how-to/call-it-over-http.md).",
        "Answers are those of the tools and of the command line with `--json`, field for field, and whole. A request "
        "is JSON with `Content-Type: application/json`, at most 1 MiB at `claim`, `start` and `report`, 64 KiB at the "
        "others; in a query lists are separated by commas. An empty value is absent, a name that is not known, "
        "or stands twice, is refused. A caller sends `Authorization: Bearer SECRET`; [who may do what](access.md).",
        "A refusal is the [record of an error](errors.md) with the status of its code. Where the request is not for "
        "this server, or cannot be taken as it comes, the code is `INVALID_INPUT` and the status 403 (a page of "
        "another site), 404 (no such route), 405 (another method), 408 (too slow), 413 (too large) or 421 (another "
        "host name).",
        "Bodies of `claim`, `start` and `report` are the arguments of "
        "[metagit_schedule_next](tools.md#metagit_schedule_next), [metagit_work_start](tools.md#metagit_work_start) "
        "and [metagit_work_report](tools.md#metagit_work_report). The document has each schema, examples, and the "
        "codes with which a route is refused.",
        *parts,
    )
