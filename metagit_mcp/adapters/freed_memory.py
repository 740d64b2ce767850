"""Gives memory that is no longer used back to the system. Knows not what it was used for."""

from typing import Final

# From here on it is worth some milliseconds.
LARGE: Final = 1024 * 1024
# Of mallopt(3). Left alone, both grow with the largest piece that was freed so far, and as much is kept at the end of
# each thread's heap for good: what the last snapshot took to be made.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3


def give_back_after(size: int) -> None:
    """Hand back what it took to make something of so many bytes, if that is much."""
    if size >= LARGE:
        give_back()


def give_back() -> None:
    """Hand back what was freed, where the C library would keep it for later (glibc); elsewhere there is nothing to do.

    Parsing a large file takes three times the memory of what it says, for a moment.
    """
    import ctypes  # noqa: PLC0415 - some milliseconds that a start with small files never pays

    library = ctypes.CDLL(None)
    trim = getattr(library, "malloc_trim", None)
    if trim is None:
        return
    for bound in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
        library.mallopt(bound, LARGE)
    trim(0)
