"""What use cases see of a workspace whose files a test makes up. It must not know what a test expects."""

from metagit_mcp.adapters.decision_log import DecisionLogFiles
from metagit_mcp.adapters.graph_store import GraphFileStore
from metagit_mcp.adapters.memory import MemoryEventStore
from metagit_mcp.adapters.system import SeededIds, SystemClock
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.ledger import Ledger
from metagit_mcp.application.turns.shared import Shared
from metagit_mcp.application.turns.write_back import WriteBack
from metagit_mcp.ports.machine import Offload
from metagit_mcp.ports.workspace import WorkspaceSource

NOWHERE = "/nowhere"


def current_over(source: WorkspaceSource, offload: Offload) -> Current:
    """The view of a source, beside a ledger of its own that no file knows."""
    ids, clock = SeededIds("alone"), SystemClock()
    ledger = Ledger(MemoryEventStore(), ids)
    write_back = WriteBack(GraphFileStore(NOWHERE), DecisionLogFiles(NOWHERE), ledger, clock, ids)
    return Current(Shared(source, ledger, clock), write_back, ids, offload, writes_at_once=False)
