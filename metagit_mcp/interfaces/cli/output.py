"""Puts answers on standard output: one line of JSON, or text and tables for people. It must not know any answer.

Everything printed for people is cleaned here once more, whoever made it: no control, format or direction marks reach
a terminal. rich is imported when a table is drawn on a terminal, and not before.
"""

import errno
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import IO, Any, Final

from metagit_mcp.domain.text import shown
from metagit_mcp.domain.value import value
from metagit_mcp.errors import InternalError

_CELL_LIMIT: Final = 200
_LINE_LIMIT: Final = 4_000
# A very wide terminal is no reason to spread a table over all of it.
_WIDEST: Final = 120
# A pipe has no width, but what comes out of it is read at a terminal in the end.
_WIDEST_PIPED: Final = 100
# Columns of text that people wrote: there a part says enough, and scripts read the JSON.
_PROSE: Final = frozenset({"title", "note"})
_LEAST_PROSE: Final = 20
# Where there is less room than that, it stands below its row.
_INDENT: Final = 6
# What a terminal is told: go to the top, clear the rest of the line, clear all below.
_TO_TOP: Final = "\x1b[H"
_TO_LINE_END: Final = "\x1b[K"
_TO_END: Final = "\x1b[J"


@value
class Table:
    """Rows under a header; the columns named in `numbers` are aligned to the right.

    The last column may be broken over several lines, or cut where it is prose; the others never are, since an id that
    is cut or broken cannot be pasted. `whole` are the places of rows whose last cell is a reason or a file, not prose.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset()
    whole: frozenset[int] = frozenset()


Block = str | Table


class OutputLost(InternalError):
    """Standard output cannot be written."""


def print_json(record: Mapping[str, Any]) -> bool:
    """Print a JSON object as one compact line, always in UTF-8; say whether anybody still reads."""
    from metagit_mcp.wire.codec import compact

    return _write(compact(record) + b"\n")


def print_blocks(blocks: Iterable[Block]) -> bool:
    """Print text and tables, cleaned; a table without rows is left out. Say whether anybody still reads."""
    kept = [cleaned for block in blocks if (cleaned := _cleaned(block)) is not None]
    if sys.stdout is not None and sys.stdout.isatty():
        text = _drawn(kept)
    else:
        text = "".join(f"{line}\n" for block in kept for line in _plain(block))
    return _write(text.encode(_encoding(), "replace"))


def print_in_place(blocks: Iterable[Block]) -> bool:
    """Print the same in place of what a terminal shows, as much of its end as there is room for; elsewhere below it.

    Say whether anybody still reads.
    """
    if sys.stdout is None or not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return print_blocks(blocks)
    lines = _drawn([cleaned for block in blocks if (cleaned := _cleaned(block)) is not None]).splitlines()
    frame = "".join(f"{line}{_TO_LINE_END}\n" for line in _last(lines))
    return _write(f"{_TO_TOP}{frame}{_TO_END}".encode(_encoding(), "replace"))


def say(line: str) -> None:
    """Say one line on standard error, cleaned: standard output stays for the answer."""
    if sys.stderr is not None:
        sys.stderr.write(f"{shown(line, _LINE_LIMIT)}\n")
        sys.stderr.flush()


def _last(lines: list[str]) -> list[str]:
    """The last lines for which the terminal has room, the cursor's own left free."""
    size = shutil.get_terminal_size()
    first, room = len(lines), size.lines - 1
    while first and (room := room - max(1, -(-_width(lines[first - 1]) // size.columns))) >= 0:
        first -= 1
    return lines[first:]


def clean_line(text: str) -> str:
    """Return one line that is safe on a terminal, its indentation kept."""
    body = text.lstrip(" ")
    return text[: len(text) - len(body)] + shown(body, _LINE_LIMIT)


def _encoding() -> str:
    return "utf-8" if sys.stdout is None else sys.stdout.encoding or "utf-8"


def _write(data: bytes) -> bool:
    """Write everything now; a reader that went away has seen what it wanted. Say whether anybody still reads."""
    if sys.stdout is None:
        return False
    stream: IO[bytes] = sys.stdout.buffer
    try:
        stream.write(data)
        stream.flush()
    except OSError as cause:
        # What is left in the buffer would be written again, and fail again, when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(cause, BrokenPipeError):
            raise OutputLost(f"Standard output cannot be written: {os.strerror(cause.errno or errno.EIO)}.") from None
        return False
    return True


def _cleaned(block: Block) -> Block | None:
    if isinstance(block, str):
        return clean_line(block)
    rows = tuple(tuple(shown(cell, _CELL_LIMIT) for cell in row) for row in block.rows)
    return replace(block, title=shown(block.title), rows=rows) if rows else None


# --- for pipes and files -------------------------------------------------------------------------------------------


def _plain(block: Block) -> Iterator[str]:
    if isinstance(block, str):
        yield block
        return
    rows = _cut(block)
    widths = _widths(block.header, rows)
    to_right = [name in block.numbers for name in block.header]
    yield f"{block.title}:"
    for row in (block.header, *rows):
        cells = (_padded(*each) for each in zip(row, widths, to_right, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()


def _widths(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[int]:
    return [max(map(_width, column)) for column in zip(header, *rows, strict=True)]


def _fixed_width(table: Table) -> int:
    """The columns that all but the last take, each with the gap after it."""
    return sum(width + 2 for width in _widths(table.header, table.rows)[:-1])


def _cut(table: Table) -> Iterable[tuple[str, ...]]:
    if table.header[-1] not in _PROSE:
        return table.rows
    room = max(_LEAST_PROSE, _WIDEST_PIPED - 2 - _fixed_width(table))
    return [row if place in table.whole else (*row[:-1], _start(row[-1], room)) for place, row in enumerate(table.rows)]


def _start(text: str, room: int) -> str:
    """Return as much of a text as fits, its cut marked."""
    if _width(text) <= room:
        return text
    kept = text[: room - 1]
    while _width(kept) > room - 1:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def _padded(cell: str, width: int, to_right: bool) -> str:
    gap = " " * (width - _width(cell))
    return gap + cell if to_right else cell + gap


def _width(text: str) -> int:
    """The columns that a text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_columns(mark) for mark in text)


def _columns(mark: str) -> int:
    if unicodedata.combining(mark):
        return 0
    return 2 if unicodedata.east_asian_width(mark) in {"W", "F"} else 1


# --- for terminals -------------------------------------------------------------------------------------------------


def _drawn(blocks: list[Block]) -> str:
    """The blocks as rich draws them for this terminal; texts reach it as plain text, never as markup."""
    if not any(isinstance(block, Table) for block in blocks):
        return "".join(f"{block}\n" for block in blocks)
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(file=sys.stdout, color_system=None, markup=False, emoji=False, highlight=False)
    console.width = min(console.width, _WIDEST)
    with console.capture() as capture:
        for block in blocks:
            room = -1 if isinstance(block, str) else console.width - _fixed_width(block)
            if isinstance(block, Table) and room >= _LEAST_PROSE:
                console.print(_rich_table(block))
            elif isinstance(block, Table) and room >= 0 and block.header[-1] in _PROSE:
                for line, prose in _stacked(block):
                    console.print(Text(line), soft_wrap=True)
                    if prose:
                        console.print(Padding(Text(prose, overflow="fold"), (0, 0, 0, _INDENT), expand=False))
            else:
                # A command or an id that is broken over two lines cannot be pasted; the terminal wraps well enough.
                for line in _plain(block):
                    console.print(Text(line), soft_wrap=True)
    return capture.get()


def _stacked(table: Table) -> Iterator[tuple[str, str]]:
    """Yield the lines of a table too wide for its prose, each with that of its row, which stands below."""
    rows = tuple(row[:-1] for row in table.rows)
    lines = _plain(Table(title=table.title, header=table.header[:-1], rows=rows, numbers=table.numbers))
    yield from zip(lines, ("", "", *(row[-1] for row in table.rows)), strict=True)


def _rich_table(table: Table) -> Any:  # noqa: ANN401 - naming the type would import rich at the start
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(title=Text(table.title), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for place, name in enumerate(table.header, start=1):
        drawn.add_column(
            Text(name),
            justify="right" if name in table.numbers else "left",
            overflow="fold",
            no_wrap=place < len(table.header),
        )
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn
