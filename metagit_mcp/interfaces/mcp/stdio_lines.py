"""Cuts a byte stream into lines of bounded length; knows no descriptors, no JSON and no event loop."""

from dataclasses import dataclass

_EXCERPT = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlongLine:
    """What is kept of a line over the limit: enough of both ends to find out which request it was."""

    head: bytes
    tail: bytes


Line = bytes | OverlongLine


class LineSplitter:
    """Collects chunks of any size and hands out lines; it holds at most `limit` bytes and one chunk."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = bytearray()
        self._head: bytes | None = None

    def feed(self, chunk: bytes) -> list[Line]:
        """Return the lines that `chunk` ends, without their line feeds."""
        *ends, start = chunk.split(b"\n")
        lines = [self._end_line(end) for end in ends]
        self._extend(start)
        return lines

    def finish(self) -> list[Line]:
        """Return the last line if the stream ended without a line feed."""
        return [self._end_line(b"")] if self._held else []

    def _extend(self, piece: bytes) -> None:
        self._held += piece
        if self._head is not None or len(self._held) > self._limit:
            self._head = bytes(self._held[:_EXCERPT]) if self._head is None else self._head
            del self._held[:-_EXCERPT]

    def _end_line(self, piece: bytes) -> Line:
        self._extend(piece)
        held, head = bytes(self._held), self._head
        self._held, self._head = bytearray(), None
        return held if head is None else OverlongLine(head=head, tail=held)
