"""Makes the ledger of a workspace; it appends no event."""

import contextlib
import os
from collections.abc import Callable
from typing import Final

from metagit_mcp.adapters.fault_points import fault
from metagit_mcp.adapters.files import TEMP_PREFIX, TEMP_SUFFIX, create_whole, make_folder
from metagit_mcp.adapters.layout import LEDGER, SCHEDULE
from metagit_mcp.adapters.places import locate
from metagit_mcp.adapters.refusals import storage_error
from metagit_mcp.adapters.sqlite.beside import keep_out_of_git
from metagit_mcp.adapters.sqlite.image import empty_ledger
from metagit_mcp.errors import MetagitError

BESIDE: Final = ("-wal", "-shm")


def make_place(root: str) -> None:
    """Make the folder of the ledger, and keep out of git what will lie there.

    Raises:
        ReadOnlyWorkspace, StoreUnavailable: it cannot be written.
    """
    make_folder(f"{root}/{SCHEDULE}", root=root)
    with contextlib.suppress(MetagitError):
        keep_out_of_git(root)


def make_ledger(root: str, new_id: Callable[[], str]) -> None:
    """Make an empty ledger, as the one writer; one that was made meanwhile stays. Errors as `make_place`."""
    real, found = locate(f"{root}/{LEDGER}", root=root)
    if found is not None:
        return
    try:
        _put(real, root, empty_ledger(new_id()))
    except OSError as cause:
        raise storage_error(cause, LEDGER) from cause
    fault("ledger.created")


def _put(path: str, root: str, image: bytes) -> None:
    """Put the ledger in its place as a whole; what a deleted one left beside it must not be taken for its own."""
    for end in BESIDE:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + end)
    # Not written by `atomic_write`, which closes its file after the rename: to close a database file anywhere in a
    # process drops the locks that SQLite holds on it there (https://www.sqlite.org/howtocorrupt.html, section 2.2).
    temp = f"{os.path.dirname(path)}/{TEMP_PREFIX}{os.getpid()}-{os.urandom(6).hex()}{TEMP_SUFFIX}"
    create_whole(temp, image, root=root)
    fault("ledger.temp_written")
    os.rename(temp, path)
