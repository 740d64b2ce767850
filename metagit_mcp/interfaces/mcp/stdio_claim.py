"""Takes the wire away from everything else in the process, before a stray print can reach it.

Must not know messages, the event loop or the SDK: it runs before any heavy import.
"""

import fcntl
import os
from dataclasses import dataclass

_STDIN, _STDOUT, _STDERR = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """The private descriptors of the wire, and the process that started this one."""

    input_fd: int
    output_fd: int
    parent_pid: int


def claim_wire() -> Wire:
    """Move standard input and output to private descriptors; call it once, before anything opens a file.

    From here on descriptor 0 is empty and descriptor 1 is standard error, here and in child processes.
    A standard stream that the host left closed counts as empty. Called later, its number may belong to
    another file by then (an event loop opens some).
    """
    wire = Wire(
        input_fd=_private_copy(_STDIN),
        output_fd=_private_copy(_STDOUT),
        parent_pid=os.getppid(),
    )
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, _STDIN)
    if not _is_open(_STDERR):
        os.dup2(null, _STDERR)
    os.dup2(_STDERR, _STDOUT)
    if null > _STDERR:
        os.close(null)
    return wire


def _private_copy(fd: int) -> int:
    """Return a copy of `fd`, or of the null device, that no child inherits and no standard stream shadows."""
    if _is_open(fd):
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)
    null = os.open(os.devnull, os.O_RDWR)
    try:
        return fcntl.fcntl(null, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)
    finally:
        os.close(null)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
