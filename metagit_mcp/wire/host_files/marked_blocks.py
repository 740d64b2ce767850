"""Puts a marked block into a text that people write, replaces it and takes it out again. Knows not what it says.

The first mark holds a digest of the text between both, so that a block which a person changed is known (ADR 0042).
"""

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from metagit_mcp.wire.host_files.texts import EntryReading, appended, misfit, newline_of, without_block

_MARK: Final = re.compile(
    r"^<!-- (?:BEGIN metagit(?: hash:(?P<digest>\S*))?|(?P<ended>END metagit)) -->[ \t]*\r?$\n?", re.MULTILINE
)
_FENCE: Final = re.compile(r"^ {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})(?P<after>[^\n]*)$", re.MULTILINE)
_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    end: int
    body: str
    digest: str


class MarkedBlocks:
    """The block that is ours in a text; its entry is the text between the marks."""

    def read(self, text: str) -> EntryReading:
        """Return our entry.

        Raises:
            Misfit: a mark has no counterpart.
        """
        blocks = list(_blocks(text))
        if not blocks:
            return EntryReading(None)
        body = blocks[0].body
        return EntryReading(body, touched=len(blocks) > 1 or _digest(body) != blocks[0].digest)

    def fresh(self, entry: str) -> str:
        """Return a text with nothing but the block."""
        return "\n".join((*_lines(entry), ""))

    def put(self, text: str, entry: str) -> str:
        """Return the text with the block, in place of the one that is there."""
        blocks = list(_blocks(text))
        if not blocks:
            return appended(text, _lines(entry))
        first, *others = blocks
        for each in reversed(others):
            text = without_block(text, each.start, each.end)
        newline = newline_of(text)
        ending = newline if text[first.start : first.end].endswith("\n") else ""
        return text[: first.start] + newline.join(_lines(entry)) + ending + text[first.end :]

    def taken_out(self, text: str) -> str | None:
        """Return the text without the block; None where nothing else was ever in the file."""
        blocks = list(_blocks(text))
        if [(each.start, each.end) for each in blocks] == [(0, len(text))]:
            return None
        for each in reversed(blocks):
            text = without_block(text, each.start, each.end)
        return text


def _blocks(text: str) -> Iterator[_Block]:
    begun: re.Match[str] | None = None
    for mark in _marks(text):
        if (mark["ended"] is None) == (begun is not None):
            lost = mark if begun is None else begun
            raise misfit(text, lost.start(), "has a mark of a metagit block without its counterpart")
        if begun is not None:
            body = text[begun.end() : mark.start()].replace("\r\n", "\n")
            yield _Block(begun.start(), mark.end(), body, begun["digest"] or "")
        begun = mark if begun is None else None
    if begun is not None:
        raise misfit(text, begun.start(), "has a mark of a metagit block without its counterpart")


def _marks(text: str) -> list[re.Match[str]]:
    """Return the marks that are none of an example: what stands in a fence is shown to people, and is no block."""
    marks = list(_MARK.finditer(text))
    shown = _fenced(text) if marks else []
    starts = [start for start, _ in shown]

    def is_shown(at: int) -> bool:
        place = bisect(starts, at) - 1
        return place >= 0 and at < shown[place][1]

    return [mark for mark in marks if not is_shown(mark.start())]


def _fenced(text: str) -> list[tuple[int, int]]:
    """Return where code stands between two fences; a fence without an end is none.

    Else a block that is put at the end of such a text would not be seen again.
    """
    found: list[tuple[int, int]] = []
    fences = list(_FENCE.finditer(text))
    # From this length on no fence of a kind ends any more.
    endless: dict[str, int] = {}
    place = 0
    while place < len(fences):
        fence = fences[place]["fence"]
        place += 1
        if len(fence) >= endless.get(fence[0], len(fence) + 1):
            continue
        end = next((at for at in range(place, len(fences)) if _ends(fences[at], fence)), None)
        if end is None:
            endless[fence[0]] = len(fence)
        else:
            found.append((fences[place - 1].start(), fences[end].end()))
            place = end + 1
    return found


def _ends(other: re.Match[str], fence: str) -> bool:
    return other["fence"].startswith(fence) and not other["after"].strip()


def _lines(entry: str) -> list[str]:
    return [
        f"<!-- BEGIN metagit hash:{_digest(entry)} -->",
        *entry.removesuffix("\n").split("\n"),
        "<!-- END metagit -->",
    ]


def _digest(body: str) -> str:
    return sha256(body.encode()).hexdigest()[:_DIGITS]
