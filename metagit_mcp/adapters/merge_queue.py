"""Counts queued and running merges per repository from merges/*.json; writes nothing, runs no git.

Every merge ever made leaves a document, so one that has ended is read once and then told by how its file looks.
A document that cannot be used costs only itself.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from metagit_mcp.adapters.files import read_regular
from metagit_mcp.adapters.layout import MERGES, QUEUE_NAME
from metagit_mcp.adapters.patience import Draft, Patience
from metagit_mcp.adapters.refusals import FileRefused
from metagit_mcp.domain.repository import repository_key
from metagit_mcp.domain.text import shown
from metagit_mcp.errors import StoreUnavailable
from metagit_mcp.wire.codec import parse_json

_PENDING: Final = ("queued", "running")
_SUFFIX: Final = ".json"
Signature = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Merge:
    """One document: the repository while its merge is pending, what is wrong with it, how its file looked."""

    pending: str = ""
    warning: str = ""
    signature: Signature = (0, 0, 0)


class MergeQueue:
    """The merge documents of one workspace; queue.json, their list, is not read."""

    def __init__(self, root: str, patience: Patience) -> None:
        """Read nothing yet."""
        self.again: set[str] = set()
        self._root = root
        self._folder = f"{root}/{MERGES}"
        self._patience = patience
        self._merges: dict[str, _Merge] = {}
        self._folder_problem = ""

    def refresh(self, names: set[str] | None) -> None:
        """Read the named documents again (None: whichever there are).

        `again` then names those that were being written: they are to be named again at the next call.
        """
        self.again = set()
        for name in sorted(self._unsettled() if names is None else names):
            if name.endswith(_SUFFIX) and not name.startswith(".") and name != QUEUE_NAME:
                self._refresh_document(name)

    def depths(self) -> Mapping[str, int]:
        """Return how many merges are pending, per canonical repository."""
        return dict(sorted(Counter(merge.pending for merge in self._merges.values() if merge.pending).items()))

    def warnings(self) -> Iterator[str]:
        """Yield what is wrong with documents, and with the folder."""
        yield from (merge.warning for merge in self._merges.values() if merge.warning)
        if self._folder_problem:
            yield self._folder_problem

    def _unsettled(self) -> set[str]:
        """Return all documents but those that ended and look as they did; vanished ones too."""
        self._folder_problem = ""
        try:
            with os.scandir(self._folder) as entries:
                found = {entry.name for entry in entries}
        except FileNotFoundError:
            found = set()
        except OSError as cause:
            found = set()
            self._folder_problem = f"{MERGES} cannot be listed: {os.strerror(cause.errno or 0)}"
        settled = {
            name
            for name, merge in self._merges.items()
            if name in found and not merge.pending and merge.signature == self._signature(name)
        }
        return (found | self._merges.keys()) - settled

    def _signature(self, name: str) -> Signature | None:
        try:
            there = os.stat(f"{self._folder}/{name}")
        except OSError:
            return None
        return (there.st_mtime_ns, there.st_size, there.st_ino)

    def _refresh_document(self, name: str) -> None:
        found: Draft[_Merge | None] = self._patience.settle(lambda: self._look(name), self._merges.get(name))
        if found.passing:
            self.again.add(name)
        if found.what is None:
            self._merges.pop(name, None)
        else:
            self._merges[name] = found.what

    def _look(self, name: str) -> Draft[_Merge | None]:
        try:
            image = read_regular(f"{self._folder}/{name}", root=self._root)
        except StoreUnavailable as error:
            return Draft(_Merge(warning=error.message), passing=not isinstance(error, FileRefused))
        if image is None:
            return Draft(None)
        try:
            pending, problem = _understood(parse_json(image.raw))
            passing = False
        except ValueError as error:
            pending, problem = "", f"not valid JSON: {error}"
            passing = self._patience.is_young(image.signature[0])
        warning = f"{MERGES}/{shown(name)}: {problem}; it is not counted" if problem else ""
        return Draft(_Merge(pending, warning, image.signature), passing=passing)


def _understood(document: object) -> tuple[str, str]:
    """Return the repository of a pending merge, and what is wrong with the document."""
    if not isinstance(document, dict):
        return "", "it must hold one JSON object"
    status, repository = document.get("status"), document.get("repository")
    if not isinstance(status, str):
        return "", "status must be a text"
    if status not in _PENDING:
        return "", ""
    key = repository_key(repository) if isinstance(repository, str) else ""
    return key, "" if key else "repository must be a text that is not empty"
