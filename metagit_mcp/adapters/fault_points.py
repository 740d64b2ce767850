"""Names each step of a write at which a test may stop the process; it knows nothing of what is written.

In normal use nothing is armed and a point costs one look into an empty dictionary.
"""

import os
import signal
from collections.abc import Callable

_REPLACED = ("graph", "index", "policy", "kept")
_APPENDED = ("decisions", "events", "audit")
_REPLACING = ("locked", "temp_written", "before_rename", "renamed")
_APPENDING = ("locked", "appended_half", "appended")

FILE_POINTS = (
    *(f"{kind}.{step}" for kind in _REPLACED for step in _REPLACING),
    *(f"{kind}.{step}" for kind in _APPENDED for step in _APPENDING),
)
# In the order in which the first writing of a workspace passes them; later ones `locked` and the last three.
LEDGER_POINTS = (
    "ignored.before_rename",
    "ledger.locked",
    "ledger.temp_written",
    "ledger.created",
    "identity.temp_written",
    "identity.before_rename",
    "identity.renamed",
    "ledger.begun",
    "ledger.appended",
    "ledger.committed",
)
# A file of an agent host, wherever it lies.
HOST_POINTS = tuple(f"host.{step}" for step in _REPLACING)
# What was imported into a graph.
IMPORT_POINTS = tuple(f"imports.{step}" for step in _REPLACING)
FAULT_POINTS = (*FILE_POINTS, *LEDGER_POINTS, *HOST_POINTS, *IMPORT_POINTS)

_armed: dict[str, Callable[[], None]] = {}


def arm_fault(name: str, action: Callable[[], None]) -> None:
    """Run `action` whenever a write reaches the point `name`; bootstrap calls this once at the start."""
    if name not in FAULT_POINTS:
        raise ValueError(f"{name} is no fault point")
    _armed[name] = action


def is_armed(name: str) -> bool:
    """Say whether something happens at the point `name`."""
    return name in _armed


def fault(name: str) -> None:
    """Mark that a write reached the point `name`."""
    if name in _armed:
        _armed[name]()


def die_at(name: str) -> None:
    """Kill this process on the spot, after the name on stderr that proves that the point was reached."""
    os.write(2, f"{name}\n".encode())
    os.kill(os.getpid(), signal.SIGKILL)
