"""The HTTP status that goes with each error code. Knows no route."""

from collections.abc import Mapping
from typing import Final

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
    "INTERNAL_ERROR": 500,
}
_CONFLICT: Final = 409
_NOT_FOUND: Final = 404


def status_of(code: str) -> int:
    """Return the status of an error code: 409 where the code says no more than that the state forbids it."""
    return _NOT_FOUND if code.endswith("_NOT_FOUND") else _STATUS.get(code, _CONFLICT)
