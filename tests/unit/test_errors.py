"""One hierarchy of errors: each has a code of its own, a default message, and one record for every interface."""

from __future__ import annotations

import pytest

from metagit_mcp import errors
from metagit_mcp.errors import InternalError, InvalidInput, MetagitError, StoreUnavailable

EVERY = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, MetagitError)]


def test_codes_are_unique_and_spelt_like_codes() -> None:
    codes = [each.code for each in EVERY if each is not MetagitError]
    assert len(set(codes)) == len(codes)
    assert all(code.isupper() and code.replace("_", "").isalpha() for code in codes)
    assert MetagitError.code == InternalError.code == "INTERNAL_ERROR"


def test_only_what_may_pass_by_itself_is_worth_trying_again() -> None:
    assert [each for each in EVERY if each.retryable] == [StoreUnavailable]


@pytest.mark.parametrize("shape", EVERY, ids=lambda shape: shape.__name__)
def test_the_docstring_is_the_default_message(shape: type[MetagitError]) -> None:
    error = shape()
    assert str(error) == error.message == shape.__doc__
    assert error.message.endswith((".", "report it."))
    assert error.as_record() == {
        "code": shape.code,
        "message": shape.__doc__,
        "hint": "",
        "details": {},
        "retryable": shape.retryable,
    }


def test_a_record_has_message_hint_and_facts() -> None:
    error = InvalidInput("limit: too many", hint="At most 100.", field="limit", given=101)
    assert error.as_record() == {
        "code": "INVALID_INPUT",
        "message": "limit: too many",
        "hint": "At most 100.",
        "details": {"field": "limit", "given": 101},
        "retryable": False,
    }
