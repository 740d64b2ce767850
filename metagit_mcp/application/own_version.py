"""The version that a coordinator is told: of what it is told, and not of the workspace, which other Groups move.

It could otherwise watch them at work by asking again and again (work.md §4). Knows no use case.
"""

from dataclasses import replace
from hashlib import blake2b
from typing import TypeVar

from metagit_mcp.application.caller import Caller
from metagit_mcp.wire.codec import line
from metagit_mcp.wire.responses import NextAnswer
from metagit_mcp.wire.status_answers import StatusAnswer

A = TypeVar("A", NextAnswer, StatusAnswer)


def own_version(caller: Caller, answer: A) -> A:
    """Return an answer with the version that its caller is told."""
    if caller.role != "coordinator":
        return answer
    return replace(answer, state_version=digest(line(replace(answer, state_version=""))))


def digest(told: bytes) -> str:
    """Return the version of what is told."""
    return blake2b(told, digest_size=6).hexdigest()
