"""What the doctor needs: the files of the workspace as files. Knows no implementation."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from metagit_mcp.domain.value import value


@value
class Fault:
    """Something of the workspace that is not as it should be, in ids, names and numbers.

    `is_harm`: somebody is to mend it. `is_mendable`: whoever found it can; else `command` may do so.
    """

    what: str
    is_harm: bool = True
    is_mendable: bool = False
    command: str | None = None


class Housekeeping(Protocol):
    """Looks after the files of the workspace as files; every method stands on its own, and looking changes nothing.

    Each may raise StoreUnavailable (FileRefused is one) for a file that cannot be read; those that write also
    ReadOnlyWorkspace.
    """

    def hindrance(self) -> Fault | None:
        """Return what keeps this user from writing into the workspace: it may not, which is no harm, or lacks room."""
        ...

    def kept(self) -> Sequence[Fault]:
        """Return what is wrong with kept.json, and which values in it stand in for what others dropped."""
        ...

    def set_kept_aside(self) -> None:
        """Move a kept.json that says nothing out of the way: to kept.json.bad."""
        ...

    def index(self) -> Sequence[Fault]:
        """Return where tasks/index.json says something else than the graph files."""
        ...

    def mend_index(self) -> None:
        """Bring tasks/index.json in step with the graph files."""
        ...

    def logs(self) -> Sequence[Fault]:
        """Return the logs with lines that are no JSON."""
        ...

    def mend_logs(self) -> None:
        """Take these lines out of the logs; what they said is kept beside each, in `<log>.bad`."""
        ...

    def beside_ledger(self, workspace_id: str) -> Sequence[Fault]:
        """Return what is wrong with the files beside the ledger of this id; an empty one: there is no ledger."""
        ...

    def mend_beside_ledger(self, workspace_id: str) -> None:
        """Bring the files beside the ledger in step with it."""
        ...

    def leftovers(self, before: datetime) -> Sequence[Fault]:
        """Return the temporary files that a writer left behind before that time."""
        ...

    def remove_leftovers(self, before: datetime) -> None:
        """Remove them."""
        ...
