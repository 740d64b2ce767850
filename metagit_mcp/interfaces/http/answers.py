"""Answers as HTTP: a record with its status, an error with the status of its code. Knows no route."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from metagit_mcp.errors import MetagitError
from metagit_mcp.wire.codec import compact, line

_JSON: Final = "application/json"
_PRIVATE: Final = {"cache-control": "no-store"}
_UNEXPECTED: Final = 500
_STATUS: Final[Mapping[str, int]] = {
    "INVALID_INPUT": 400,
    "SCHEMA_VALIDATION_FAILED": 400,
    "AUTH_REQUIRED": 401,
    "AUTH_FORBIDDEN": 403,
    "READ_ONLY": 403,
    "STORE_UNAVAILABLE": 503,
    "BACKPRESSURE": 503,
    "STORE_CORRUPT": 500,
    "STORE_TOO_NEW": 500,
    "POLICY_INVALID": 500,
    "INTERNAL_ERROR": _UNEXPECTED,
}
_CONFLICT: Final = 409
_NOT_FOUND: Final = 404


def answered(answer: Any) -> Response:  # noqa: ANN401 - any answer of `wire`
    """Return an answer, whole: whoever asks here takes as much as there is."""
    return Response(line(answer), media_type=_JSON, headers=_PRIVATE)


def status_of(error: MetagitError) -> int:
    """Return the status that goes with an error's code."""
    if error.code.endswith("_NOT_FOUND"):
        return _NOT_FOUND
    return _STATUS.get(error.code, _CONFLICT)


def refusal(status: int, error: MetagitError) -> Response:
    """Return an error as its record."""
    headers = dict(_PRIVATE)
    if error.code == "AUTH_REQUIRED":
        headers["www-authenticate"] = 'Bearer error="invalid_token"'
    return Response(compact(error.as_record()), status_code=status, media_type=_JSON, headers=headers)


def refused(error: MetagitError) -> Response:
    """Return an error with the status of its code."""
    return refusal(status_of(error), error)
