"""What the tests of the command line share: one run in this process, against a fake application."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.interfaces.cli.main import main
from tests.interfaces.cli.fake_application import FakeApplication

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Ended:
    """How a run ended, and what it asked the application."""

    code: int
    out: str
    err: str
    application: FakeApplication

    @property
    def record(self) -> dict[str, Any]:
        """The one line of JSON on standard output."""
        assert self.out.count("\n") == 1
        assert self.out.endswith("\n")
        record: dict[str, Any] = json.loads(self.out)
        return record

    @property
    def asked(self) -> list[tuple[str, tuple[Any, ...]]]:
        return self.application.asked


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Ended]:
    """Return a function that runs the arguments; keywords answer use cases (`schedule_next=...`)."""

    def run(*arguments: str, **instead: object) -> Ended:
        application = FakeApplication({name.replace("_", ".", 1): each for name, each in instead.items()})
        code = main(arguments, application.invocation())
        printed = capsysbinary.readouterr()
        return Ended(code, printed.out.decode(), printed.err.decode(), application)

    return run
