"""What a look for changes answers, whichever way it is made; it touches no file."""

from dataclasses import dataclass
from typing import Final, Protocol

from metagit_mcp.adapters.files import TEMP_SUFFIX
from metagit_mcp.adapters.layout import LEDGER_NAME

# Each commit touches these, and whoever reads the ledger asks the ledger itself.
_OF_LEDGER: Final = frozenset(LEDGER_NAME + end for end in ("", "-wal", "-shm", "-journal"))


@dataclass(frozen=True, slots=True)
class ChangedPaths:
    """These files may differ from what was read before: (folder as it was given, file name).

    A file that is new, gone, written, replaced or whose permissions changed is in; one that was written
    at this very moment may come twice.
    """

    paths: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Everything:
    """Any file may differ: list the folders and compare what they hold."""


NOTHING = ChangedPaths()
EVERYTHING = Everything()


class Changes(Protocol):
    """Looks for changes in a fixed set of folders, which may not exist yet."""

    def drain(self) -> ChangedPaths | Everything:
        """Return what changed since the last call; at first, and when a folder changed, everything.

        The files are to be read after this call: a change during the reading is in the next report.
        """
        ...

    def close(self) -> None:
        """Give back what the watching holds; no call follows."""
        ...


def is_reported(name: str) -> bool:
    """Say whether a file name can matter to a reader: no dot-file, lock, temporary file or part of the ledger."""
    return not name.startswith(".") and not name.endswith((".lock", TEMP_SUFFIX)) and name not in _OF_LEDGER
