"""Says which ledger is that of a workspace: the one that the settings name, else the one of workspace.json."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from metagit_mcp.adapters.files import make_folder, read_regular
from metagit_mcp.adapters.layout import IDENTITY, SCHEDULE
from metagit_mcp.adapters.locks import locked
from metagit_mcp.adapters.sqlite.beside import put_in_step
from metagit_mcp.errors import MetagitError, StoreCorrupt


class LedgerName:
    """The name under which this host looks for the ledger."""

    def __init__(self, root: str, given: str | None) -> None:
        """Keep what the settings say."""
        self._root = root
        self._given = given
        self._told = ""
        self._said: str | None = None

    def known(self) -> str | None:
        """Return the name, or None where there is none yet.

        Raises:
            StoreCorrupt: workspace.json says nothing; to take that for "no ledger" would make a second one.
            StoreUnavailable, FileRefused: it cannot be read.
        """
        if self._given is not None:
            return self._given
        found = read_regular(f"{self._root}/{IDENTITY}", root=self._root)
        if found is None:
            # A file that was deleted under a server is no reason to begin anew beside the other hosts.
            return self._said
        with suppress(ValueError, KeyError, TypeError):
            named = json.loads(found.raw)["workspace_id"]
            if isinstance(named, str) and named:
                self._said = named
                return named
        hint = "Write into it what it says on the other hosts, or set METAGIT_WORKSPACE_ID."
        raise StoreCorrupt(f"{IDENTITY} does not say which ledger is that of this workspace.", hint=hint, file=IDENTITY)

    @contextmanager
    def choosing(self) -> Iterator[None]:
        """Let no other process of this host choose a name at the same time, where none is given.

        Raises:
            ReadOnlyWorkspace, StoreUnavailable: it could not be written down.
        """
        if self._given is not None:
            yield
            return
        make_folder(f"{self._root}/{SCHEDULE}", root=self._root)
        with locked(f"{self._root}/{IDENTITY}", root=self._root, kind="identity"):
            yield

    def tell(self, workspace_id: str) -> None:
        """Write down which ledger it is; where a name is given, only for who looks at the files.

        Raises:
            ReadOnlyWorkspace, StoreUnavailable: it cannot be written, and nobody would find the ledger again.
        """
        if workspace_id == self._told:
            return
        try:
            make_folder(f"{self._root}/{SCHEDULE}", root=self._root)
            put_in_step(self._root, workspace_id)
        except MetagitError:
            if self._given is None and self.known() != workspace_id:
                raise
        else:
            self._told = workspace_id
