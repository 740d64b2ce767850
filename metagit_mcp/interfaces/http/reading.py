"""What a request says: its query or its JSON body, as fields. Knows no route."""

from typing import Any, Final

from starlette.requests import ClientDisconnect, Request

from metagit_mcp.domain.text import shown_name
from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.http.answers import TooLarge
from metagit_mcp.wire.codec import parse_json

# What a person types fits many times.
_MOST_BYTES: Final = 64 * 1024
Json = dict[str, Any]


async def body_of(request: Request, most_bytes: int = _MOST_BYTES) -> Json:
    """Return the JSON object that a request carries.

    Raises:
        InvalidInput: it carries none, or too much.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        # A form of another site can send anything but this.
        raise InvalidInput("The body must be JSON.", hint="Send Content-Type: application/json.", field="body")
    raw = await _bytes_of(request, most_bytes)
    try:
        read = parse_json(raw)
    except ValueError:
        raise InvalidInput("The body is no JSON.", field="body") from None
    if not isinstance(read, dict):
        raise InvalidInput("The body must be a JSON object.", field="body")
    return read


async def _bytes_of(request: Request, most_bytes: int) -> bytes:
    raw = bytearray()
    try:
        async for part in request.stream():
            raw += part
            if len(raw) > most_bytes:
                raise TooLarge(f"The body has at most {most_bytes} bytes.", hint="Send less.", field="body")
    except ClientDisconnect:
        # Nobody hears this: what was not asked to the end is not done.
        raise InvalidInput("The request broke off.", field="body") from None
    return bytes(raw)


def query_of(request: Request) -> Json:
    """Return the fields of a query; what is empty is absent.

    Raises:
        InvalidInput: a name stands twice. One of the two would be lost without a word.
    """
    given: Json = {}
    for name, text in request.query_params.multi_items():
        if name in given:
            hint = "Send each name once; lists are separated by commas."
            raise InvalidInput(f"{shown_name(name)} stands twice in the query", hint=hint, field=shown_name(name))
        given[name] = text
    return {name: text for name, text in given.items() if text}
