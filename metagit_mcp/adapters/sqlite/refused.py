"""Why a ledger is not used at all, or not any more, for reasons that are not SQLite's; it loads no sqlite3."""

import os
from typing import Final

from metagit_mcp.adapters.file_systems import shared_file_system
from metagit_mcp.adapters.layout import LEDGER
from metagit_mcp.adapters.refusals import FileRefused
from metagit_mcp.errors import ReadOnlyWorkspace, StoreUnavailable

# 512 bytes on Unix, and the end of that, with the longest ending of a file beside the ledger.
_LONGEST_PATH: Final = 512 - 1 - len("-journal")


class LedgerUnreadable(FileRefused):
    """SQLite needs files beside the ledger which this user may neither use nor make."""

    way_out = "Readers need to write in that folder too while a writer has not closed its ledger cleanly."


class OnSharedFolder(FileRefused):
    """The ledger lies where the memory shared by SQLite's readers and writers does not work."""

    way_out = (
        "Keep the workspace on a local disk of the machine on which its servers run: on a network file system or a "
        "folder shared with a virtual machine, two writers could damage the ledger. Reading the plan works there."
    )


class PathTooLong(FileRefused):
    """SQLite takes no path as long as this one."""

    way_out = "Move the workspace to a folder with a shorter path; a link to it does not make it shorter."


def refuse_place(path: str) -> None:
    """Refuse a place that several machines may share (ADR 0017), or that SQLite cannot name.

    Raises:
        OnSharedFolder, PathTooLong: a ledger at `path` could not be used; it is better not to make it.
    """
    real = os.path.realpath(path)
    kind = shared_file_system(real)
    if kind is not None:
        raise OnSharedFolder(LEDGER, f"lies on a network or shared file system ({kind})")
    if len(os.fsencode(real)) > _LONGEST_PATH:
        raise PathTooLong(LEDGER, f"lies deeper than the {_LONGEST_PATH} bytes of path that SQLite takes")


def replaced() -> StoreUnavailable:
    """Return that somebody deleted or replaced the ledger at this very moment."""
    hint = "Nothing of this is in the ledger that lies there now. Try again."
    return StoreUnavailable(f"{LEDGER} was deleted or replaced meanwhile.", hint=hint, file=LEDGER)


def read_only() -> ReadOnlyWorkspace:
    """Return that this user can read the ledger, in a folder that it may not write."""
    hint = "Answers and previews still work; to record anything, this user must be able to write there."
    return ReadOnlyWorkspace(f"{LEDGER} cannot be written by this user.", hint=hint, file=LEDGER)
