"""The demo from start to end: every step of every chapter, its facts checked, and what to say where one differs.

Knows no step by name.
"""

import asyncio
import json
import signal
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final, Generic, TypeVar

import anyio

from metagit_mcp.domain.value import value
from metagit_mcp.errors import InternalError
from metagit_mcp.interfaces.demo.facts import Fact, difference
from metagit_mcp.interfaces.demo.programs import StepFailed
from metagit_mcp.interfaces.demo.transcript import Transcript

Json = dict[str, Any]
S = TypeVar("S")
_WHOLE_SECONDS: Final = 120
_TERMINATED: Final = 128 + signal.SIGTERM


@value
class Step(Generic[S]):
    """One step: the name under which its facts stand, what is done, how, and what of it is told."""

    name: str
    title: str
    act: Callable[[S], Awaitable[Json]]
    view: Callable[[Json], Iterable[str]]


@value
class Chapter(Generic[S]):
    """Some steps on a stage of their own: how it is set up in an empty folder, and the facts of its steps."""

    heading: Sequence[str]
    stage: Callable[[Path], AbstractAsyncContextManager[S]]
    steps: Sequence[Step[S]]
    facts: Sequence[Fact]

    async def walk(self, root: Path, transcript: Transcript, first: int) -> None:
        """Take every step, numbered from `first` on.

        Raises:
            FactDiffers: what was seen is not what a fact says.
        """
        async with self.stage(root) as stage:
            transcript.heading(self.heading)
            for number, step in enumerate(self.steps, start=first):
                transcript.step(number, step.title)
                seen = await step.act(stage)
                self._check(step.name, seen)
                transcript.seen(step.view(seen))

    def _check(self, step: str, seen: Json) -> None:
        for fact in self.facts:
            if fact.step == step and (found := difference(fact, seen)) is not None:
                raise FactDiffers(fact, found.seen)


class FactDiffers(Exception):
    """What was seen is not what the table of facts says."""

    def __init__(self, fact: Fact, seen: object) -> None:
        """Keep both."""
        super().__init__(fact.says)
        self.fact = fact
        self.seen = seen


def demonstrate(transcript: Transcript, chapters: Sequence[Chapter[Any]]) -> int:
    """Walk through the chapters in temporary folders and print them; return 0, or 1 if a fact differs or a step fails.

    Raises:
        InternalError: the transcript cannot be written.
    """
    try:
        with _ended_by_signal() as ending, tempfile.TemporaryDirectory(prefix="metagit-demo-") as folder:
            asyncio.run(ending.of(_walk(Path(folder).resolve(), transcript, chapters)))
    except Exception as error:  # noqa: BLE001 - whatever goes wrong, the demo says what and ends with 1
        first = _first(error)
        if isinstance(first, InternalError):
            # The transcript is lost, and with it the place to say so.
            raise first from None
        transcript.failed(_failure(first))
        return 1
    transcript.passed(f"{sum(len(each.facts) for each in chapters)} facts checked, all hold.")
    return 0


async def _walk(folder: Path, transcript: Transcript, chapters: Sequence[Chapter[Any]]) -> None:
    first = 1
    with anyio.fail_after(_WHOLE_SECONDS):
        for place, chapter in enumerate(chapters):
            root = folder / f"workspace-{place}"
            root.mkdir()
            await chapter.walk(root, transcript, first)
            first += len(chapter.steps)


def _first(error: BaseException) -> BaseException:
    """Return what went wrong first: the SDK's task groups wrap whatever passes through them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _failure(error: BaseException) -> Iterable[str]:
    if isinstance(error, FactDiffers):
        return (
            f"The fact differs: {error.fact.says}",
            f"  at:       {error.fact.step}: {error.fact.path}",
            f"  expected: {json.dumps(error.fact.expected)}",
            f"  seen:     {json.dumps(error.seen)}",
        )
    if isinstance(error, StepFailed):
        return (f"The step failed: {error}",)
    if isinstance(error, TimeoutError):
        return (f"The demo did not end within {_WHOLE_SECONDS} seconds.",)
    return (f"The step failed: {type(error).__name__}: {error}",)


class _Ending:
    """What SIGTERM does: it cancels the walk.

    An exception out of the event loop would cancel all of its tasks at once, and task groups take that for an end of
    their own: the walk would go on behind them.
    """

    def __init__(self) -> None:
        self._walk: asyncio.Task[Any] | None = None
        self._is_asked = False

    async def of(self, walk: Awaitable[None]) -> None:
        self._walk = asyncio.current_task()
        try:
            await walk
        finally:
            self._walk = None
            # Whatever else went wrong on the way out.
            if self._is_asked:
                raise SystemExit(_TERMINATED)

    def unwind(self, _: int, __: FrameType | None) -> None:
        if self._walk is None:
            raise SystemExit(_TERMINATED)
        self._is_asked = True
        self._walk.get_loop().call_soon_threadsafe(self._walk.cancel)


@contextmanager
def _ended_by_signal() -> Iterator[_Ending]:
    """Let SIGTERM unwind like an interrupt, so that the folder and the servers do not stay behind."""
    ending = _Ending()
    before = signal.signal(signal.SIGTERM, ending.unwind)
    try:
        yield ending
    finally:
        signal.signal(signal.SIGTERM, before)
