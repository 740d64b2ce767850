"""Answers as HTTP: a record with its status, an error with the status of its code. Knows no route."""

from typing import Any, Final

from starlette.responses import Response

from metagit_mcp.errors import InvalidInput, MetagitError
from metagit_mcp.wire.codec import compact, line
from metagit_mcp.wire.http.http_status import status_of

_JSON: Final = "application/json"
_PRIVATE: Final = {"cache-control": "no-store"}
_TOO_LARGE: Final = 413


class TooLarge(InvalidInput):
    """A body is longer than its route takes."""


def answered(answer: Any) -> Response:  # noqa: ANN401 - any answer of `wire`
    """Return an answer, whole: whoever asks here takes as much as there is."""
    return Response(line(answer), media_type=_JSON, headers=_PRIVATE)


def refusal(status: int, error: MetagitError) -> Response:
    """Return an error as its record."""
    headers = dict(_PRIVATE)
    if error.code == "AUTH_REQUIRED":
        headers["www-authenticate"] = 'Bearer error="invalid_token"'
    return Response(compact(error.as_record()), status_code=status, media_type=_JSON, headers=headers)


def refused(error: MetagitError) -> Response:
    """Return an error with the status of its code, or of what HTTP has a status of its own for."""
    return refusal(_TOO_LARGE if isinstance(error, TooLarge) else status_of(error.code), error)
