"""What the set-up of agent hosts needs from the machine. Knows no implementation, and no host."""

from collections.abc import Callable
from typing import Protocol

from metagit_mcp.domain.value import value


@value
class HostFacts:
    """What the machine says of agent hosts.

    `project` is the folder of the repository or workspace around the current one, else that itself. `home`,
    `config_home` and `codex_home` are where programs look for what holds everywhere. `program` starts this program
    (`metagit-mcp`, or what a shell needs that does not find it). `workspace` is the one that was found, if any.
    """

    project: str
    home: str
    config_home: str
    codex_home: str
    is_mac: bool
    program: tuple[str, ...]
    workspace: str | None


class HostFiles(Protocol):
    """The files in which agent hosts are told what to start; anywhere on the machine, shared with other programs."""

    def real(self, path: str) -> str:
        """Return where a path leads when links are followed, there or not."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return a whole file, or None where there is none.

        Raises:
            HostFileInvalid: it is no regular file, too large, or not readable for this user.
        """
        ...

    def revise(self, path: str, change: Callable[[bytes | None], bytes | None], *, mode: int) -> bool:
        """Replace a file, or where it leads, with what `change` makes of it; None stands for no file, both ways.

        `change` may be asked several times, since other programs write the file too. Folders are made if need be;
        permissions and owner are kept, and `mode` is for a new file. Says whether anything is different now.

        Raises:
            HostFileInvalid: as `read`; and whatever `change` raises. Nothing is changed then.
            ReadOnlyWorkspace, StoreUnavailable: it cannot be written.
        """
        ...
