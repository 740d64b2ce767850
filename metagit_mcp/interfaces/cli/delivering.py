"""Delivers the log of a Group line by line, in batches, each told only when it is durable. Knows no rule of Events."""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from metagit_mcp.domain.value import value
from metagit_mcp.errors import MetagitError
from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.event_lines import EventLine, EventLines
from metagit_mcp.wire.group_answers import DeliverAnswer
from metagit_mcp.wire.group_events import GroupEvent, read_group_event
from metagit_mcp.wire.group_requests import MOST_BYTES, MOST_EVENTS

if TYPE_CHECKING:
    TakeIn = Callable[[list[GroupEvent]], Coroutine[Any, Any, DeliverAnswer]]

_AGAIN: Final = "Deliver all of it again then: what was delivered before counts as known."
_BOM: Final = b"\xef\xbb\xbf"


@value
class Progress:
    """What became of a log so far: all up to `line` is durable."""

    line: int = 0
    cursor: int | None = None
    applied: int = 0
    duplicates: int = 0
    held: int = 0
    next_step: str = ""

    def with_answer(self, answer: DeliverAnswer, line: int) -> "Progress":
        """Return what it is with the answer to one more batch."""
        return replace(
            self,
            line=line,
            cursor=answer.cursor,
            applied=self.applied + answer.applied,
            duplicates=self.duplicates + answer.duplicates,
            held=answer.held,
            next_step=answer.next_step,
        )


class Delivery:
    """One log on its way to one Group; `tell` is told of each batch, and says whether anybody still listens."""

    def __init__(self, lines: EventLines, take_in: "TakeIn", tell: Callable[[DeliverAnswer, int], bool]) -> None:
        """Read nothing yet."""
        self.progress = Progress()
        self.is_heard = True
        self.read_to = 0
        self._lines = lines
        self._take_in = take_in
        self._tell = tell
        # What did not fit into the last batch, and the line that cannot be read: it is told after what stands before.
        self._carried: list[tuple[EventLine, GroupEvent]] = []
        self._refusal: tuple[MetagitError, list[EventLine]] | None = None

    def step(self) -> bool:
        """Deliver the next batch; say whether there was one.

        Raises:
            MetagitError: the log cannot be delivered on; says where, and up to where all of it is durable.
        """
        batch = self._batch()
        if not batch:
            if self._refusal is not None:
                raise self._located(*self._refusal)
            return False
        try:
            answer = finished(self._take_in([event for _, event in batch]))
        except MetagitError as error:
            raise self._located(error, [line for line, _ in batch]) from None
        last = batch[-1][0]
        self.progress = self.progress.with_answer(answer, last.number)
        self.read_to = last.ends_at
        self.is_heard = self._tell(answer, last.number)
        return True

    def _batch(self) -> list[tuple[EventLine, GroupEvent]]:
        batch, self._carried = self._carried, []
        size = sum(len(event.body) for _, event in batch)
        while self._refusal is None and len(batch) < MOST_EVENTS:
            read = self._next(wait=not batch)
            if read is None:
                break
            size += len(read[1].body)
            if size > MOST_BYTES:
                self._carried = [read]
                break
            batch.append(read)
        return batch

    def _next(self, *, wait: bool) -> tuple[EventLine, GroupEvent] | None:
        line: EventLine | None = None
        try:
            line = self._lines.next(wait=wait)
            return None if line is None else (line, read_group_event(line.raw.removeprefix(_BOM)))
        except MetagitError as error:
            self._refusal = (error, [] if line is None else [line])
            return None

    def _located(self, error: MetagitError, lines: list[EventLine]) -> MetagitError:
        """Return the error with the line that it is about, or the lines of the batch, and what is durable."""
        durable = self.progress.line
        so_far = f"Lines 1 to {durable} are durable." if durable else "Nothing of it was delivered."
        index = error.details.get("index")
        about = lines if not isinstance(index, int) else [lines[index]]
        details = {name: each for name, each in error.details.items() if name != "index"}
        if about:
            details["line"] = about[0].number
        return type(error)(
            f"{self._lines.name}{_where(about)}: {error.message}" if about else error.message,
            hint=f"{error.hint} {so_far} {_AGAIN}".strip(),
            **{**details, "durable_line": durable},
        )


def _where(lines: list[EventLine]) -> str:
    first, last = lines[0], lines[-1]
    if first is not last:
        return f", lines {first.number} to {last.number}"
    return f", line {first.number}" if first.is_whole else f", line {first.number}, which has no line end yet"
