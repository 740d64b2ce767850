"""Puts the parts together: the only place that knows which adapter stands behind which port.

It loads neither the MCP SDK nor networkx, and it opens no file of the workspace itself.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

from metagit_mcp.adapters.approvals import ApprovalFileStore
from metagit_mcp.adapters.changes import open_changes
from metagit_mcp.adapters.decision_log import DecisionLogFiles
from metagit_mcp.adapters.fault_points import FAULT_POINTS, arm_fault, die_at
from metagit_mcp.adapters.graph_store import GraphFileStore
from metagit_mcp.adapters.layout import WATCHED
from metagit_mcp.adapters.policy_file import PolicyFileStore
from metagit_mcp.adapters.schema_files import check_schemas, export_schemas
from metagit_mcp.adapters.system import FixedClock, RandomIds, SeededIds, SystemClock
from metagit_mcp.adapters.workspace import find_workspace, init_workspace
from metagit_mcp.adapters.workspace_source import WorkspaceFiles
from metagit_mcp.application.caller import Caller
from metagit_mcp.application.current import Current
from metagit_mcp.application.policies import Policies
from metagit_mcp.application.schedule import Schedule
from metagit_mcp.application.tasks import Tasks
from metagit_mcp.application.work import Work
from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput
from metagit_mcp.ports import Clock, Ids, Offload
from metagit_mcp.settings import Settings
from metagit_mcp.wire.responses import WorkspacePlace

__all__ = [
    "Application",
    "check_schemas",
    "export_schemas",
    "init_workspace",
    "open_application",
    "place_of",
]


@value
class Application:
    """The use cases over one workspace, the current view that they share, and what lets go of its files."""

    current: Current
    schedule: Schedule
    policies: Policies
    tasks: Tasks
    work: Work
    place: WorkspacePlace
    close: Callable[[], None]


def open_application(settings: Settings, *, surface: Literal["mcp", "cli"], offload: Offload) -> Application:
    """Return the use cases over the workspace that the settings lead to; its files are read at the first question.

    Raises:
        WorkspaceNotFound: there is none.
        InvalidInput: the fault point to stop at does not exist.
    """
    _arm(settings.fault)
    place = place_of(settings)
    root = place.path
    # A command looks once; only a server gains by listening.
    watch = "stat" if surface == "cli" and settings.watch == "auto" else settings.watch
    changes = open_changes(root, WATCHED, mode=watch)
    clock, ids = _clock(settings), _ids(settings)
    source = WorkspaceFiles(root, changes)
    log = DecisionLogFiles(root)
    current = Current(source, clock, offload)
    caller = Caller(
        agent_id=settings.agent_id,
        capabilities=settings.capabilities,
        operator=settings.operator,
        policy_read_only=settings.policy_read_only,
        surface=surface,
    )
    return Application(
        current=current,
        schedule=Schedule(place, current, log, source, ids, offload, caller),
        policies=Policies(current, PolicyFileStore(root), log, clock, ids, offload, caller),
        tasks=Tasks(current, GraphFileStore(root), log, clock, ids, offload, caller),
        work=Work(current, ApprovalFileStore(root), log, clock, ids, offload),
        place=place,
        close=changes.close,
    )


def place_of(settings: Settings) -> WorkspacePlace:
    """Return where the workspace is that the settings lead to.

    Raises:
        WorkspaceNotFound: there is none.
    """
    return find_workspace(settings.workspace, settings.workspace_from, settings.project_dir)


def _clock(settings: Settings) -> Clock:
    return SystemClock() if settings.clock is None else FixedClock(settings.clock)


def _ids(settings: Settings) -> Ids:
    return RandomIds() if settings.ids is None else SeededIds(settings.ids)


def _arm(fault: str | None) -> None:
    if fault is None:
        return
    if fault not in FAULT_POINTS:
        raise InvalidInput(f"METAGIT_MCP_FAULT must be one of {', '.join(FAULT_POINTS)}", field="METAGIT_MCP_FAULT")
    arm_fault(fault, partial(die_at, fault))
