"""Puts the parts together: the only place that knows which adapter stands behind which port.

Where there are several, `chosen.py` says which one the settings ask for. Nothing here loads the MCP SDK or networkx, or
opens a file of the workspace. Each part is loaded when it is put together: to find the workspace, which a hook does at
each turn of an agent, costs a tenth of what a use case does.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from metagit_mcp.adapters.workspace import find_workspace, init_workspace
from metagit_mcp.errors import InvalidInput

if TYPE_CHECKING:
    from metagit_mcp.adapters.simulation_picture import SimulationArtist
    from metagit_mcp.adapters.traces import Traces
    from metagit_mcp.application.access import Access
    from metagit_mcp.application.board.board import Board
    from metagit_mcp.application.board.changes import Sights
    from metagit_mcp.application.briefing import Briefings
    from metagit_mcp.application.caller import Caller
    from metagit_mcp.application.groups.groups import Groups
    from metagit_mcp.application.imports.imports import Imports
    from metagit_mcp.application.known_ids import KnownIds
    from metagit_mcp.application.measures import Measures
    from metagit_mcp.application.news.noticing import Noticing
    from metagit_mcp.application.news.watching import Watching
    from metagit_mcp.application.policies import Policies
    from metagit_mcp.application.rules import Rules
    from metagit_mcp.application.schedule import Schedule
    from metagit_mcp.application.tasks.tasks import Tasks
    from metagit_mcp.application.upkeep.keeping import Keeping
    from metagit_mcp.application.upkeep.maintenance import Maintenance
    from metagit_mcp.application.work.claims import Claims
    from metagit_mcp.application.work.work import Work
    from metagit_mcp.bootstrap.chosen import Surface
    from metagit_mcp.domain.place import WorkspacePlace
    from metagit_mcp.ports.machine import Waits
    from metagit_mcp.settings import Settings
    from metagit_mcp.wire.measures import Calls, Standing

MetricsPage = Callable[["Calls", "Standing | None", int], bytes]

__all__ = [
    "Application",
    "check_schemas",
    "export_schemas",
    "init_workspace",
    "metrics_page",
    "open_application",
    "open_traces",
    "place_of",
    "simulation_artist",
]


class Parts:
    """What all callers of a process share over one workspace: its files, its ledger, the view of both."""

    def __init__(self, settings: "Settings", *, surface: "Surface", waits: "Waits") -> None:
        """Put it together; no file is read."""
        from metagit_mcp.adapters.decision_log import DecisionLogFiles
        from metagit_mcp.adapters.graph_store import GraphFileStore
        from metagit_mcp.adapters.sqlite import SqliteEventStore
        from metagit_mcp.adapters.workspace_source import WorkspaceFiles
        from metagit_mcp.application.turns.current import Current
        from metagit_mcp.application.turns.ledger import Ledger
        from metagit_mcp.application.turns.shared import Shared
        from metagit_mcp.application.turns.write_back import WriteBack
        from metagit_mcp.application.work.leases import Attended
        from metagit_mcp.bootstrap.chosen import changes_of, clock_of, ids_of, store_of

        self.place = place_of(settings)
        root = self.place.path
        self.root = root
        self.store = store_of(settings, root)
        self.waits = waits
        if surface != "cli" and not isinstance(self.store, SqliteEventStore):
            self.waits = self.store.woken(waits)
        self.clock, self.ids = clock_of(settings, self.store), ids_of(settings)
        self.changes = changes_of(settings, surface, root)
        self.log = DecisionLogFiles(root)
        self.source, self.graphs = WorkspaceFiles(root, self.changes), GraphFileStore(root)
        ledger = Ledger(self.store, self.ids)
        self.shared = Shared(self.source, ledger, self.clock)
        write_back = WriteBack(self.graphs, self.log, ledger, self.clock, self.ids)
        self.attended = Attended()
        self.current = Current(self.shared, write_back, self.ids, waits.offload, writes_at_once=surface == "cli")

    @cached_property
    def sights(self) -> "Sights":
        """What those see who keep the board open."""
        from metagit_mcp.application.board.changes import Sights

        return Sights(self.clock)

    def close(self) -> None:
        """Let go of the files."""
        self.changes.close()
        self.store.close()


class Application:
    """The use cases over one workspace in the name of one caller.

    Each is put together when it is asked for: the decider alone is half of what there is to load, and advice in a
    workspace without a ledger needs none of it.
    """

    def __init__(self, parts: Parts, caller: "Caller") -> None:
        """Put the rest together; no file is read."""
        self._parts, self._caller = parts, caller
        self.place, self.current = parts.place, parts.current

    def speaking_for(self, caller: "Caller") -> "Application":
        """Return the same use cases in the name of another caller."""
        return Application(self._parts, caller)

    @cached_property
    def _claims(self) -> "Claims":
        from metagit_mcp.application.work.claims import Claims

        return Claims(self._caller, self._parts.ids, self._parts.attended)

    @cached_property
    def schedule(self) -> "Schedule":
        """What is next, and how things stand."""
        from metagit_mcp.application.schedule import Schedule

        parts = self._parts
        return Schedule(
            self.place,
            self.current,
            parts.log,
            parts.source,
            lambda: self._claims,
            parts.ids,
            parts.waits,
            self._caller,
        )

    @cached_property
    def briefings(self) -> "Briefings":
        """What an agent is told at the start of its session and at the end of its turn."""
        from metagit_mcp.application.briefing import Briefings

        return Briefings(self.current, self._caller)

    @cached_property
    def policies(self) -> "Policies":
        """The policy."""
        from metagit_mcp.adapters.policy_file import PolicyFileStore
        from metagit_mcp.application.policies import Policies

        parts = self._parts
        store, offload = PolicyFileStore(parts.root), parts.waits.offload
        return Policies(self.current, store, parts.log, parts.clock, parts.ids, offload, self._caller)

    @cached_property
    def tasks(self) -> "Tasks":
        """Writing work down."""
        from metagit_mcp.application.tasks.tasks import Tasks

        parts = self._parts
        return Tasks(self.current, parts.graphs, parts.log, parts.clock, parts.ids, parts.waits.offload, self._caller)

    @cached_property
    def imports(self) -> "Imports":
        """Copying the lists of other programs."""
        from metagit_mcp.adapters.imported_lists import ImportedLists
        from metagit_mcp.application.imports.imports import Imports

        parts = self._parts
        lists, offload = ImportedLists(parts.root), parts.waits.offload
        return Imports(self.current, parts.graphs, lists, parts.log, parts.clock, parts.ids, offload, self._caller)

    @cached_property
    def work(self) -> "Work":
        """What agents and people do with single nodes."""
        from metagit_mcp.application.work.work import Work

        return Work(self.current, self._claims, self._caller)

    @cached_property
    def rules(self) -> "Rules":
        """Approvals and pauses."""
        from metagit_mcp.application.rules import Rules

        return Rules(self.current, self._parts.log, self._parts.ids, self._parts.waits.offload, self._caller)

    @cached_property
    def groups(self) -> "Groups":
        """What is done with Groups that are fed by Events."""
        from metagit_mcp.application.groups.groups import Groups
        from metagit_mcp.application.upkeep.replays import Replays

        parts = self._parts
        replays = Replays(parts.shared, parts.store, parts.ids)
        return Groups(self.current, parts.store, replays, parts.waits, self._caller)

    @cached_property
    def access(self) -> "Access":
        """The tokens of callers over the network."""
        from metagit_mcp.adapters.system import new_secret
        from metagit_mcp.application.access import Access

        return Access(self.current, self._parts.clock, new_secret, self._caller)

    @cached_property
    def board(self) -> "Board":
        """All that one look at the board needs."""
        from metagit_mcp.application.board.board import Board

        parts = self._parts
        return Board(self.place, self.current, parts.log, parts.sights, parts.waits, self._caller)

    @cached_property
    def keeping(self) -> "Keeping":
        """What a server does unasked."""
        from metagit_mcp.application.upkeep.keeping import Keeping

        return Keeping(self.current, self._parts.attended, self._parts.clock, self._caller)

    @cached_property
    def watching(self) -> "Watching":
        """What changes while somebody looks."""
        from metagit_mcp.application.news.watching import Watching

        self._caller.allow("look")
        return Watching(self.current, self._parts.shared, self._parts.store, self._parts.waits)

    @cached_property
    def noticing(self) -> "Noticing":
        """What a host that subscribed is told of."""
        from metagit_mcp.application.news.noticing import Noticing

        parts = self._parts
        return Noticing(self.current, parts.shared, parts.store, parts.log, parts.waits)

    @cached_property
    def known_ids(self) -> "KnownIds":
        """The ids that a host completes."""
        from metagit_mcp.application.known_ids import KnownIds

        return KnownIds(self.current, self._caller)

    @cached_property
    def measures(self) -> "Measures":
        """How much there is of what, for whoever watches the server."""
        from metagit_mcp.application.measures import Measures

        return Measures(self.schedule, self._parts.shared, self._caller)

    @cached_property
    def maintenance(self) -> "Maintenance":
        """The doctor."""
        from metagit_mcp.adapters.housekeeping import WorkspaceHousekeeping
        from metagit_mcp.application.upkeep.maintenance import Maintenance

        self._caller.allow("administer")
        parts = self._parts
        keeper, offload = WorkspaceHousekeeping(parts.root), parts.waits.offload
        return Maintenance(self.place, self.current, parts.shared, parts.store, keeper, parts.ids, offload)

    def close(self) -> None:
        """Let go of the files."""
        self._parts.close()


def open_application(settings: "Settings", *, surface: "Surface", waits: "Waits") -> Application:
    """Return the use cases over the workspace that the settings lead to; its files are read at the first question.

    Raises:
        WorkspaceNotFound: there is none.
        InvalidInput: the fault point to stop at does not exist.
    """
    from metagit_mcp.bootstrap.chosen import caller_of
    from metagit_mcp.bootstrap.faults import arm

    arm(settings.fault)
    parts = Parts(settings, surface=surface, waits=waits)
    return Application(parts, caller_of(settings, surface, parts.ids))


def export_schemas(folder: str) -> list[str]:
    """Write all schemas into a folder, and return the names of the files; raises what its namesake does."""
    from metagit_mcp.adapters import schema_files

    return schema_files.export_schemas(folder)


def check_schemas(folder: str) -> list[str]:
    """Compare a folder with the program, and return the names of the files; raises what its namesake does."""
    from metagit_mcp.adapters import schema_files

    return schema_files.check_schemas(folder)


def simulation_artist() -> "SimulationArtist":
    """Return what draws simulated runs.

    Raises:
        InvalidInput: what it draws with is not installed.
    """
    from metagit_mcp.adapters.simulation_picture import SimulationArtist

    return SimulationArtist()


def metrics_page() -> "tuple[MetricsPage, str]":
    """Return what writes the page of metrics, and the content type of it.

    Raises:
        InvalidInput: what it is written with is not installed.
    """
    try:
        from metagit_mcp.adapters.metrics_page import CONTENT_TYPE, metrics_page
    except ImportError:
        hint = "pipx install --force '/path/to/clone[telemetry]', and start the server anew."
        raise InvalidInput("Metrics need prometheus-client, which is not installed", hint=hint) from None
    return metrics_page, CONTENT_TYPE


def open_traces(environ: Mapping[str, str], say: Callable[[str], None]) -> "Traces | None":
    """Return what sends spans to the collector that the environment names; None where it names none."""
    from metagit_mcp.adapters.traces import Traces, is_wanted, otlp_exporter

    return Traces(otlp_exporter, say) if is_wanted(environ) else None


def place_of(settings: "Settings") -> "WorkspacePlace":
    """Return where the workspace is that the settings lead to.

    Raises:
        WorkspaceNotFound: there is none.
    """
    start, started_from = settings.project_dir, settings.project_dir_from
    named = settings.workspace, settings.workspace_from
    return find_workspace(*named, start, started_from=started_from, plugin_root=settings.plugin_root)
