"""Names the network or shared file system on which a path lies, if it does; it opens nothing below that path.

Linux says so in a table of mounts. Elsewhere nothing is known, and nothing is refused.
"""

import os
import re
from typing import Final

_MOUNTS: Final = "/proc/self/mountinfo"
# Each serves one folder to several machines, or to a machine and its guests, without memory that they share.
_SHARED: Final = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "drvfs", "fakeowner", "glusterfs", "gpfs", "lustre"),
        *("ncpfs", "nfs", "nfs4", "ocfs2", "osxfs", "prl_fs", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"),
        *(f"fuse.{name}" for name in ("ceph", "cephfs", "gcsfuse", "glusterfs", "goofys", "grpcfuse", "osxfs")),
        *(f"fuse.{name}" for name in ("rclone", "s3fs", "sshfs", "vmhgfs-fuse")),
    }
)
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")


def shared_file_system(path: str) -> str | None:
    """Return the type of the file system on which `path` lies if several machines may share it, else None."""
    try:
        with open(_MOUNTS, "rb") as table:
            rows = table.read().splitlines()
    except OSError:
        return None
    kind = _kind_at(os.fsencode(os.path.realpath(path)), rows)
    return kind if kind in _SHARED else None


def _kind_at(path: bytes, rows: list[bytes]) -> str:
    """Return the type of the mount that covers `path`: the longest one, and of equal ones the last."""
    longest, kind = -1, ""
    for row in rows:
        before, _, after = row.partition(b" - ")
        point = _ESCAPED.sub(lambda octal: bytes([int(octal[1], 8)]), before.split(b" ")[4])
        if len(point) >= longest and (path == point or path.startswith(point.rstrip(b"/") + b"/")):
            longest, kind = len(point), after.partition(b" ")[0].decode()
    return kind
