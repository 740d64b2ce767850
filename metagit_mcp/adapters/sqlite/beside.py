"""Keeps the two small files beside the ledger in step with it: its name, and what git is to pass over. Runs no SQL."""

import json
from typing import Final

from metagit_mcp.adapters.files import atomic_write, read_regular
from metagit_mcp.adapters.layout import IDENTITY, IGNORED, LEDGER_NAME
from metagit_mcp.errors import MetagitError

# The ledger itself, what SQLite keeps beside it, and the lock under which it is made.
_UNTRACKED: Final = tuple(f"{LEDGER_NAME}{end}".encode() for end in ("", "-wal", "-shm", ".lock"))


def tend(root: str, workspace_id: str) -> bool:
    """Bring the files beside the ledger in step with it, also after a kill; say whether they are."""
    try:
        put_in_step(root, workspace_id)
    except MetagitError:
        # The ledger is the authority: a claim must not fail for a copy of its name.
        return False
    return True


def put_in_step(root: str, workspace_id: str) -> None:
    """Write what is missing or different.

    Raises:
        ReadOnlyWorkspace, StoreUnavailable, FileRefused: it cannot be written.
    """
    keep_out_of_git(root)
    if not _is_named(root, workspace_id):
        atomic_write(f"{root}/{IDENTITY}", _name(workspace_id), root=root, kind="identity")


def out_of_step(root: str, workspace_id: str) -> list[str]:
    """Return the files that are missing or say something else than the ledger.

    Raises:
        StoreUnavailable, FileRefused: one cannot be read.
    """
    lacking = [IGNORED] if _lacking(root)[1] else []
    return lacking if _is_named(root, workspace_id) else [IDENTITY, *lacking]


def keep_out_of_git(root: str) -> None:
    """Add the lines that the `.gitignore` beside the ledger lacks; what else it says stays."""
    former, lacking = _lacking(root)
    if lacking:
        start = former if not former or former.endswith(b"\n") else former + b"\n"
        atomic_write(f"{root}/{IGNORED}", start + b"\n".join(lacking) + b"\n", root=root, kind="ignored", mode=0o644)


def _lacking(root: str) -> tuple[bytes, list[bytes]]:
    """Return what the `.gitignore` says, and the lines that it lacks."""
    found = read_regular(f"{root}/{IGNORED}", root=root)
    former = b"" if found is None else found.raw
    return former, [line for line in _UNTRACKED if line not in former.split()]


def _is_named(root: str, workspace_id: str) -> bool:
    found = read_regular(f"{root}/{IDENTITY}", root=root)
    return found is not None and found.raw == _name(workspace_id)


def _name(workspace_id: str) -> bytes:
    return json.dumps({"workspace_id": workspace_id}).encode() + b"\n"
