"""Reads people's approvals in schedule/approvals.json; knows neither who may approve nor what that allows.

They were given before there was a ledger, and it is never written anymore. A damaged file grants nothing.
"""

from collections.abc import Mapping
from typing import Final

from metagit_mcp.adapters.files import read_regular
from metagit_mcp.adapters.json_documents import parse_document
from metagit_mcp.adapters.layout import APPROVALS
from metagit_mcp.adapters.refusals import FileRefused
from metagit_mcp.domain.approval import Approval
from metagit_mcp.errors import StoreCorrupt, StoreUnavailable
from metagit_mcp.wire.codec import Json, adapter, compact

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
