"""Keeps what was imported into each graph: schedule/imports/<graph_id>.json. It knows no format and merges nothing."""

import os
from collections.abc import Mapping
from typing import Final

from metagit_mcp.adapters.files import atomic_write, make_folder, read_regular
from metagit_mcp.adapters.json_documents import parse_document
from metagit_mcp.adapters.layout import IMPORTS
from metagit_mcp.adapters.list_sources import read_list
from metagit_mcp.adapters.locks import locked
from metagit_mcp.adapters.refusals import FileRefused, read_error
from metagit_mcp.domain.text import is_id
from metagit_mcp.wire.codec import compact
from metagit_mcp.wire.lists.imported import Imported, ListSource, imported_record, read_imported

_SUFFIX: Final = ".json"


class ImportUnusable(FileRefused):
    """What was imported into a graph cannot be read."""

    way_out = "Move the file away: what is in its graph then counts as written here, and --graph-id goes on with it."


class ImportedLists:
    """The lists of other programs, and the records of one workspace; see `application.imports.Lists`."""

    def __init__(self, root: str) -> None:
        """Touch nothing yet."""
        self._root = root

    def read(self, system: str, path: str) -> ListSource:
        """Return the files of a list."""
        return read_list(self._root, system, path)

    def all(self) -> Mapping[str, Imported]:
        """Return what was imported, by graph id."""
        folder = f"{self._root}/{IMPORTS}"
        try:
            names = sorted(os.listdir(folder))
        except FileNotFoundError:
            return {}
        except OSError as cause:
            raise read_error(cause, IMPORTS) from cause
        graph_ids = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
        found = {graph_id: self._read(graph_id) for graph_id in graph_ids if is_id(graph_id)}
        return {graph_id: each for graph_id, each in found.items() if each is not None}

    def _read(self, graph_id: str) -> Imported | None:
        name = f"{IMPORTS}/{graph_id}{_SUFFIX}"
        image = read_regular(f"{self._root}/{name}", root=self._root)
        try:
            return None if image is None else read_imported(parse_document(image.raw))
        except ValueError as error:
            raise ImportUnusable(name, f"cannot be used: {error}") from None

    def keep(self, graph_id: str, imported: Imported) -> None:
        """Keep what was imported into a graph."""
        path = f"{self._root}/{IMPORTS}/{graph_id}{_SUFFIX}"
        make_folder(f"{self._root}/{IMPORTS}", root=self._root)
        with locked(path, root=self._root, kind="imports"):
            atomic_write(path, compact(imported_record(imported)) + b"\n", root=self._root, kind="imports")
