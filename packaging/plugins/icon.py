"""Draws the icon of the plugin: three tasks that wait, and one that is next. It must not know anything else."""

import struct
import zlib
from collections.abc import Iterator
from math import isqrt
from typing import Final

SIZE: Final = 512
_BACK, _LINE, _WAITS, _NEXT = range(4)
_PALETTE: Final = ((17, 24, 39), (75, 85, 99), (156, 163, 175), (52, 211, 153))
# Where the tasks lie, how big they are, and their colours.
_FIRST: Final = (136, 256, 66, _NEXT)
_OTHERS: Final = ((376, 124, 44, _WAITS), (376, 256, 44, _WAITS), (376, 388, 44, _WAITS))
_HALF_LINE: Final = 8


def picture() -> bytes:
    """Return the icon as a PNG with a palette."""
    rows = b"".join(b"\0" + _row(y) for y in range(SIZE))
    head = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 3, 0, 0, 0)
    palette = bytes(part for colour in _PALETTE for part in colour)
    parts = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def pixels(png: bytes) -> bytes:
    """Return what a PNG of ours shows: compressors differ in how they pack it."""
    start = png.index(b"IDAT")
    (length,) = struct.unpack(">I", png[start - 4 : start])
    return zlib.decompress(png[start + 4 : start + 4 + length])


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _row(y: int) -> bytes:
    row = bytearray([_BACK]) * SIZE
    for start, end, colour in (*_lines(y), *_discs(y)):
        row[start:end] = bytes([colour]) * (end - start)
    return bytes(row)


def _discs(y: int) -> Iterator[tuple[int, int, int]]:
    for middle, height, radius, colour in (_FIRST, *_OTHERS):
        if abs(y - height) <= radius:
            half = isqrt(radius**2 - (y - height) ** 2)
            yield middle - half, middle + half + 1, colour


def _lines(y: int) -> Iterator[tuple[int, int, int]]:
    """Yield where a row crosses the lines from the first task to the others; the tasks hide their ends."""
    from_x, from_y, *_ = _FIRST
    for to_x, to_y, *_ in _OTHERS:
        along_x, along_y = to_x - from_x, to_y - from_y
        if along_y == 0 and abs(y - from_y) <= _HALF_LINE:
            yield from_x, to_x, _LINE
        elif min(from_y, to_y) <= y <= max(from_y, to_y) and along_y:
            middle = from_x + (y - from_y) * along_x // along_y
            half = _HALF_LINE * isqrt(along_x**2 + along_y**2) // abs(along_y)
            yield max(from_x, middle - half), min(to_x, middle + half + 1), _LINE
