"""Keeps people's approvals in schedule/approvals.json; knows neither who may approve nor what that allows.

A damaged file grants nothing, and it is never overwritten.
"""

from collections.abc import Mapping
from typing import Final

from metagit_mcp.adapters.files import atomic_write, make_folder, read_regular
from metagit_mcp.adapters.json_documents import parse_document, render_document
from metagit_mcp.adapters.layout import APPROVALS, SCHEDULE
from metagit_mcp.adapters.locks import locked
from metagit_mcp.adapters.refusals import FileRefused
from metagit_mcp.domain.approval import Approval
from metagit_mcp.errors import StoreCorrupt, StoreUnavailable
from metagit_mcp.wire.codec import Json, adapter, compact, plain

Approvals = Mapping[str, tuple[Approval, ...]]

NOTHING_APPROVED: Final[Approvals] = {}
_HINT: Final = "Mend the file or move it away; until then nothing counts as approved."


class ApprovalFile:
    """The approvals of one workspace, to be read. `approvals` is a new mapping exactly when they changed."""

    def __init__(self, root: str) -> None:
        """Read nothing yet."""
        self.approvals = NOTHING_APPROVED
        self.warnings: tuple[str, ...] = ()
        self.again = False
        self._root = root

    def refresh(self) -> None:
        """Read the file; `again` then says that it could not be reached and is to be read at the next call."""
        self.again = False
        try:
            document = _read(self._root)
        except StoreCorrupt as error:
            fresh, self.warnings = NOTHING_APPROVED, (error.message,)
        except StoreUnavailable as error:
            self.again, self.warnings = True, (error.message,)
            return
        else:
            fresh, self.warnings = _understood(document)
        if fresh != self.approvals:
            self.approvals = fresh


class ApprovalFileStore:
    """The approvals of one workspace, to be added to."""

    def __init__(self, root: str) -> None:
        """Touch nothing yet."""
        self._root = root

    def add(self, approval: Approval) -> bool:
        """Add one approval durably; see `ports.ApprovalStore`.

        Raises:
            StoreCorrupt: the file that is there cannot be used.
            ReadOnlyWorkspace, StoreUnavailable: it cannot be written.
        """
        root, path = self._root, f"{self._root}/{APPROVALS}"
        make_folder(f"{root}/{SCHEDULE}", root=root)
        with locked(path, root=root, kind="approvals"):
            document = _read(root)
            if any(_same_node(each, approval) for each in _understood(document)[0].get(approval.graph_id, ())):
                return False
            document["approvals"] = [*document["approvals"], plain(approval)]
            atomic_write(path, render_document(document), root=root, kind="approvals")
        return True


def _same_node(one: Approval, other: Approval) -> bool:
    return (one.node_id, one.epoch, one.digest) == (other.node_id, other.epoch, other.digest)


def _read(root: str) -> Json:
    """Return the document, whose `approvals` is a list.

    Raises:
        StoreCorrupt: it cannot be used.
        StoreUnavailable: it cannot be read at the moment.
    """
    try:
        image = read_regular(f"{root}/{APPROVALS}", root=root)
        document = {"approvals": []} if image is None else parse_document(image.raw)
    except (FileRefused, ValueError) as error:
        raise StoreCorrupt(f"{APPROVALS} cannot be used: {error}", hint=_HINT) from None
    if not isinstance(document.get("approvals"), list):
        raise StoreCorrupt(f"{APPROVALS} cannot be used: approvals must be a list", hint=_HINT)
    return document


def _understood(document: Json) -> tuple[Approvals, tuple[str, ...]]:
    """Return the approvals by graph, and a warning for each row that cannot be used."""
    found: dict[str, tuple[Approval, ...]] = {}
    warnings: list[str] = []
    for place, row in enumerate(document["approvals"]):
        try:
            approval = adapter(Approval).validate_json(compact(row))
        except ValueError:
            warnings.append(f"{APPROVALS}: approvals/{place} cannot be used and grants nothing")
        else:
            found[approval.graph_id] = (*found.get(approval.graph_id, ()), approval)
    return found, tuple(warnings)
