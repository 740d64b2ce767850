"""Puts the parts together: the only place that knows which adapter stands behind which port.

It loads neither the MCP SDK nor networkx, and it opens no file of the workspace itself.
"""

from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

from metagit_mcp.adapters.changes import Changes, open_changes
from metagit_mcp.adapters.decision_log import DecisionLogFiles
from metagit_mcp.adapters.fault_points import FAULT_POINTS, arm_fault, die_at
from metagit_mcp.adapters.graph_store import GraphFileStore
from metagit_mcp.adapters.layout import WATCHED
from metagit_mcp.adapters.policy_file import PolicyFileStore
from metagit_mcp.adapters.schema_files import check_schemas, export_schemas
from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.adapters.system import ClockFile, FixedClock, RandomIds, SeededIds, SystemClock, user_at_host
from metagit_mcp.adapters.workspace import find_workspace, init_workspace
from metagit_mcp.adapters.workspace_source import WorkspaceFiles
from metagit_mcp.application.caller import Caller
from metagit_mcp.application.current import Current
from metagit_mcp.application.leases import Attended
from metagit_mcp.application.ledger import Ledger
from metagit_mcp.application.policies import Policies
from metagit_mcp.application.schedule import Schedule
from metagit_mcp.application.shared import Shared
from metagit_mcp.application.tasks import Tasks
from metagit_mcp.application.write_back import WriteBack
from metagit_mcp.errors import InvalidInput
from metagit_mcp.ports import Clock, Ids, Waits
from metagit_mcp.settings import Settings
from metagit_mcp.wire.status_answers import WorkspacePlace

if TYPE_CHECKING:
    from metagit_mcp.adapters.simulation_picture import SimulationArtist
    from metagit_mcp.application.claims import Claims
    from metagit_mcp.application.groups import Groups
    from metagit_mcp.application.keeping import Keeping
    from metagit_mcp.application.maintenance import Maintenance
    from metagit_mcp.application.rules import Rules
    from metagit_mcp.application.watching import Watching
    from metagit_mcp.application.work import Work

Surface = Literal["mcp", "cli"]
_LONGEST_WAIT = 300

__all__ = [
    "Application",
    "check_schemas",
    "export_schemas",
    "init_workspace",
    "open_application",
    "place_of",
    "simulation_artist",
]


class Application:
    """The use cases over one workspace, the current view that they share, and what lets go of its files.

    Those that command the ledger are put together when they are asked for: the decider is half of what there is to
    load, and advice in a workspace without a ledger needs none of it.
    """

    def __init__(self, settings: Settings, *, surface: Surface, waits: Waits) -> None:
        """Put the rest together; no file is read."""
        self.place = place_of(settings)
        root = self.place.path
        self._root, self._waits = root, waits
        self._clock, self._ids = _clock(settings), _ids(settings)
        self._changes = _changes(settings, surface, root)
        self._caller = _caller(settings, surface, self._ids)
        self._store, self._log = SqliteEventStore(root), DecisionLogFiles(root)
        source, graphs = WorkspaceFiles(root, self._changes), GraphFileStore(root)
        ledger = Ledger(self._store, self._ids)
        self._shared = Shared(source, ledger, self._clock)
        write_back = WriteBack(graphs, self._log, ledger, self._clock, self._ids)
        self._attended = Attended()
        offload, at_once = waits.offload, surface == "cli"
        self.current = Current(self._shared, write_back, self._ids, offload, writes_at_once=at_once)
        self.schedule = Schedule(
            self.place, self.current, self._log, source, self._claims, self._ids, waits, self._caller
        )
        self.policies = Policies(
            self.current, PolicyFileStore(root), self._log, self._clock, self._ids, offload, self._caller
        )
        self.tasks = Tasks(self.current, graphs, self._log, self._clock, self._ids, offload, self._caller)

    def _claims(self) -> "Claims":
        from metagit_mcp.application.claims import Claims

        return Claims(self._caller, self._ids, self._attended)

    @cached_property
    def work(self) -> "Work":
        """What agents and people do with single nodes."""
        from metagit_mcp.application.work import Work

        return Work(self.current, self._claims())

    @cached_property
    def rules(self) -> "Rules":
        """Approvals and pauses."""
        from metagit_mcp.application.rules import Rules

        return Rules(self.current, self._log, self._ids, self._waits.offload)

    @cached_property
    def groups(self) -> "Groups":
        """What is done with Groups that are fed by Events."""
        from metagit_mcp.application.groups import Groups
        from metagit_mcp.application.replays import Replays

        replays = Replays(self._shared, self._store, self._ids)
        return Groups(self.current, self._store, replays, self._waits)

    @cached_property
    def keeping(self) -> "Keeping":
        """What a server does unasked."""
        from metagit_mcp.application.keeping import Keeping

        return Keeping(self.current, self._attended, self._clock, self._caller)

    @cached_property
    def watching(self) -> "Watching":
        """What changes while somebody looks."""
        from metagit_mcp.application.watching import Watching

        return Watching(self.current, self._shared, self._store, self._waits)

    @cached_property
    def maintenance(self) -> "Maintenance":
        """The doctor."""
        from metagit_mcp.adapters.housekeeping import WorkspaceHousekeeping
        from metagit_mcp.application.maintenance import Maintenance

        keeper = WorkspaceHousekeeping(self._root)
        offload = self._waits.offload
        return Maintenance(self.place, self.current, self._shared, self._store, keeper, self._ids, offload)

    def close(self) -> None:
        """Let go of the files."""
        self._changes.close()
        self._store.close()


def open_application(settings: Settings, *, surface: Surface, waits: Waits) -> Application:
    """Return the use cases over the workspace that the settings lead to; its files are read at the first question.

    Raises:
        WorkspaceNotFound: there is none.
        InvalidInput: the fault point to stop at does not exist.
    """
    _arm(settings.fault)
    return Application(settings, surface=surface, waits=waits)


def simulation_artist() -> "SimulationArtist":
    """Return what draws simulated runs.

    Raises:
        InvalidInput: what it draws with is not installed.
    """
    from metagit_mcp.adapters.simulation_picture import SimulationArtist

    return SimulationArtist()


def _changes(settings: Settings, surface: Surface, root: str) -> Changes:
    """Return what looks for changes: a command looks once, and only a server gains by listening."""
    watch = "stat" if surface == "cli" and settings.watch == "auto" else settings.watch
    return open_changes(root, WATCHED, mode=watch)


def _caller(settings: Settings, surface: Surface, ids: Ids) -> Caller:
    """Return who calls: only a server that was started for one agent alone holds that agent's session."""
    is_server = surface == "mcp"
    claims_as = settings.agent_id or settings.session_id
    if not claims_as:
        claims_as = f"agent-{ids.new()[:8]}" if is_server else user_at_host()
    return Caller(
        agent_id=settings.agent_id,
        claims_as=claims_as,
        holder=ids.new()[:12] if is_server and settings.agent_id else None,
        attended=is_server,
        max_wait_seconds=settings.max_wait_seconds if is_server else _LONGEST_WAIT,
        capabilities=settings.capabilities,
        operator=settings.operator,
        policy_read_only=settings.policy_read_only,
        surface=surface,
    )


def place_of(settings: Settings) -> WorkspacePlace:
    """Return where the workspace is that the settings lead to.

    Raises:
        WorkspaceNotFound: there is none.
    """
    return find_workspace(settings.workspace, settings.workspace_from, settings.project_dir)


def _clock(settings: Settings) -> Clock:
    if settings.clock_file is not None:
        return ClockFile(settings.clock_file)
    return SystemClock() if settings.clock is None else FixedClock(settings.clock)


def _ids(settings: Settings) -> Ids:
    return RandomIds() if settings.ids is None else SeededIds(settings.ids)


def _arm(fault: str | None) -> None:
    if fault is None:
        return
    if fault not in FAULT_POINTS:
        raise InvalidInput(f"METAGIT_MCP_FAULT must be one of {', '.join(FAULT_POINTS)}", field="METAGIT_MCP_FAULT")
    arm_fault(fault, partial(die_at, fault))
