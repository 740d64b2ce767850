"""The use case of `import`: the lists that other programs keep become task graphs. Knows no file and no format."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.finding import usable_graph
from metagit_mcp.application.imports.merge import Merge, merged
from metagit_mcp.application.imports.nodes import ListedNodes, listed_nodes
from metagit_mcp.application.imports.remarks import remarks, tags_left_behind
from metagit_mcp.application.tasks.authoring import FreshIds
from metagit_mcp.application.tasks.graph_change import file_id
from metagit_mcp.application.tasks.tasks import refuse_fed
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.write_back import TASK_EVENTS, projected
from metagit_mcp.domain.decision import SchedulerEvent
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.text import shown, shown_name
from metagit_mcp.domain.value import value
from metagit_mcp.errors import GraphExists, InvalidInput
from metagit_mcp.ports.machine import Clock, Ids, Offload
from metagit_mcp.ports.workspace import DecisionLog, GraphStore, Warnings, WorkspaceImage
from metagit_mcp.wire.lists.import_answers import ImportAnswer, ImportedGraph, ImportRequest, NodeOutcome, System
from metagit_mcp.wire.lists.imported import Imported, ListSource
from metagit_mcp.wire.lists.listed import SourceList

Json = dict[str, Any]
_MOST_WARNINGS: Final = 20
_MOST_NODES: Final = 50


class GraphFiles(GraphStore, Protocol):
    """Graphs that can be looked at without a trace."""

    def peek(self, graph_id: str) -> Json | None:
        """Return the graph as `revise` would give it to its change; creates nothing."""
        ...


class Lists(Protocol):
    """Reads the lists of other programs, and remembers what was imported into which graph and what it said then."""

    def read(self, system: System, path: str) -> ListSource:
        """Return the files of a list, which are only read.

        Raises:
            InvalidInput: there is no such list, or it is too large.
            StoreUnavailable: it cannot be read.
        """
        ...

    def all(self) -> Mapping[str, Imported]:
        """Return what was imported, by graph id; creates nothing.

        Raises:
            StoreUnavailable: a record cannot be read.
        """
        ...

    def keep(self, graph_id: str, imported: Imported) -> None:
        """Keep what was imported into a graph.

        Raises:
            ReadOnlyWorkspace, StoreUnavailable: it cannot be written.
        """
        ...


@value
class _Target:
    """One list with the graph that it goes to, and what was imported into that before, from where (None: nothing)."""

    graph_id: str
    source: SourceList
    former: Imported
    is_known: bool
    came_from: str | None


class Imports:
    """Copies lists into graphs; the lists themselves are only read."""

    def __init__(
        self,
        current: Current,
        store: GraphFiles,
        lists: Lists,
        log: DecisionLog,
        clock: Clock,
        ids: Ids,
        offload: Offload,
        caller: Caller,
    ) -> None:
        """Keep the collaborators."""
        self._current, self._store, self._from = current, store, lists
        self._log, self._clock, self._ids, self._offload, self._caller = log, clock, ids, offload, caller

    async def run(self, request: ImportRequest) -> ImportAnswer:
        """Import a list; what is asked for again changes nothing.

        Raises:
            InvalidInput: there is no such list, or it cannot be trusted as a whole; nothing was written.
            GraphExists: the graph that it would go to is something else, and the request did not name it.
            GraphInvalid, StoreUnavailable, ReadOnlyWorkspace: a graph cannot be read or written. Of several lists some
                may be there by then; asking again completes the rest.
        """
        self._caller.allow("plan_work")
        found = await self._offload(lambda: self._from.read(request.system, request.path))
        lists = await self._offload(lambda: _lists(request, found))
        image = await self._current.image()
        known = await self._offload(self._from.all)
        targets = _targets(request, found, lists, known, image)
        graphs: list[ImportedGraph] = []
        warnings = list(tags_left_behind(request, found, lists, known, image.graphs))
        for target in targets:
            graph, more = await self._imported(target, dry_run=request.dry_run)
            graphs.append(graph)
            warnings += more
        # One warning may be told of several graphs.
        told = list(dict.fromkeys(warnings))
        return ImportAnswer(
            system=request.system,
            source=shown(found.at, 500),
            dry_run=request.dry_run,
            graphs=tuple(graphs),
            warnings=tuple(told[:_MOST_WARNINGS]),
            warnings_omitted=max(0, len(told) - _MOST_WARNINGS),
            next_step=_next_step(graphs, dry_run=request.dry_run),
        )

    async def _imported(self, target: _Target, *, dry_run: bool) -> tuple[ImportedGraph, Warnings]:
        listed = listed_nodes(target.source, target.former.records)
        if dry_run:
            state = await self._current.work()
            now = self._clock.now()
            merge = await self._offload(lambda: self._looked(target, listed, state, now))
            warnings: Warnings = ()
        elif self._current.has_ledger:
            # Nobody can claim a node while it is changed.
            (merge, warnings), more = await self._current.command(
                lambda turn: self._written(target, listed, turn.state, turn.instant.wall)
            )
            warnings += more
        else:
            merge, warnings = await self._offload(
                lambda: self._written(target, listed, LedgerState(), self._clock.now())
            )
        outcome = _outcome(target, listed, merge)
        # Only the first ones are told, and a list may have many of its own.
        said = remarks(target.graph_id, merge, target.former, target.came_from)
        return outcome, (*said, *warnings, *listed.warnings)

    def _looked(self, target: _Target, listed: ListedNodes, state: LedgerState, now: datetime) -> Merge:
        graph = self._store.peek(target.graph_id)
        return self._merged(graph, target, listed, state, now)[0]

    def _merged(
        self, graph: Json | None, target: _Target, listed: ListedNodes, state: LedgerState, now: datetime
    ) -> tuple[Merge, list[tuple[str, str]]]:
        """Return the merge, on top of what the ledger has to write back, and the statuses of that."""
        base, due = projected(graph, state, target.graph_id) or (graph, [])
        return merged(base, listed, target.former, (target.graph_id, target.source.title), state, now), due

    def _written(
        self, target: _Target, listed: ListedNodes, state: LedgerState, now: datetime
    ) -> tuple[Merge, Warnings]:
        """Write a graph, its events, and then what was imported: a kill in between leaves what comes again.

        The graph is noted as this list's before it is there, so that the next run knows it.
        """
        if not target.is_known:
            self._from.keep(target.graph_id, target.former)
        made: list[Merge] = []
        due: list[tuple[str, str]] = []

        def change(graph: Json | None) -> Json | None:
            merge, due[:] = self._merged(graph, target, listed, state, now)
            made.append(merge)
            return merge.record

        warnings = self._store.revise(target.graph_id, change)
        merge = made[-1]
        if merge.record is not None:
            is_new = len(merge.created) == len(merge.record["nodes"])
            warnings += self._log.append_task_events(self._events(target, merge, due, now, is_new=is_new))
        if merge.records != target.former.records:
            former = target.former
            imported = Imported(system=former.system, source=former.source, tag=former.tag, records=merge.records)
            self._from.keep(target.graph_id, imported)
        return merge, warnings

    def _events(
        self, target: _Target, merge: Merge, due: Sequence[tuple[str, str]], now: datetime, *, is_new: bool
    ) -> list[SchedulerEvent]:
        told: list[tuple[str, Json]] = [("TaskGraphCreated", {"title": target.source.title})] if is_new else []
        # They stand at the end, in their order.
        fresh = merge.whole["nodes"][len(merge.whole["nodes"]) - len(merge.created) :]
        told += [("TaskNodeCreated", {"node_id": row["node_id"], "title": row["title"]}) for row in fresh]
        changed = [each for each in (*due, *merge.statuses) if each[1] in TASK_EVENTS]
        told += [(TASK_EVENTS[status], {"node_id": name}) for name, status in changed]
        return [
            SchedulerEvent(
                event_id=self._ids.new(), type=kind, at=now, payload={"graph_id": target.graph_id, **payload}
            )
            for kind, payload in told
        ]


def _lists(request: ImportRequest, found: ListSource) -> tuple[SourceList, ...]:
    """Return the lists of a source that are asked for; only the parser that is needed is loaded."""
    if request.tag is not None and request.system != "taskmaster":
        raise InvalidInput("tag: only a list of Task Master has tags", field="tag")
    if request.strict and request.system != "backlog":
        raise InvalidInput("strict: only ids of Backlog.md have prefixes", field="strict")
    if request.system == "beads":
        from metagit_mcp.wire.lists.beads import read_beads  # noqa: PLC0415 - one of three

        return (read_beads(found.files[0], found.folder),)
    if request.system == "backlog":
        from metagit_mcp.wire.lists.backlog import read_backlog  # noqa: PLC0415 - one of three

        return (read_backlog(found.files, found.folder, strict=request.strict),)
    from metagit_mcp.wire.lists.taskmaster import read_taskmaster  # noqa: PLC0415 - one of three

    lists = read_taskmaster(found.files[0])
    chosen = tuple(each for each in lists if request.tag in {None, each.tag})
    if not chosen:
        hint = f"Tags: {', '.join(shown_name(each.tag) for each in lists[:20])}."
        raise InvalidInput("tag: the list has no such tag", hint=hint, field="tag")
    if request.graph_id is not None and len(chosen) > 1:
        hint = "Add --tag, or leave --graph-id out: each tag becomes a graph of its name."
        raise InvalidInput(
            f"graph_id: one graph is named, and there are {len(chosen)} tags", hint=hint, field="graph_id"
        )
    return chosen


# --- which graph ---------------------------------------------------------------------------------------------------


def _targets(
    request: ImportRequest,
    found: ListSource,
    lists: Sequence[SourceList],
    known: Mapping[str, Imported],
    image: WorkspaceImage,
) -> list[_Target]:
    """Return where each list goes, all of them looked at before anything is written.

    Raises:
        InvalidInput, GraphExists, GraphInvalid: as `run`.
    """
    targets = [_target(request, found, each, known, image) for each in lists]
    twice = [each.graph_id for each in targets if sum(other.graph_id == each.graph_id for other in targets) > 1]
    if twice:
        hint = "Import them one by one, each with --tag and --graph-id."
        raise InvalidInput(f"tag: two tags would become the graph {twice[0]}", hint=hint, field="tag")
    return targets


def _target(
    request: ImportRequest,
    found: ListSource,
    source: SourceList,
    known: Mapping[str, Imported],
    image: WorkspaceImage,
) -> _Target:
    own = (request.system, found.at, source.tag)
    before = [name for name, each in sorted(known.items()) if (each.system, each.source, each.tag) == own]
    graph_id = file_id(request.graph_id or (before[0] if before else FreshIds().made_from(source.name)))
    refuse_fed(image, graph_id)
    if graph_id in image.graphs:
        usable_graph(image.graphs, graph_id)
    former = known.get(graph_id)
    _refuse_other(request, graph_id, former, is_there=graph_id in image.graphs, is_own=graph_id in before)
    records: Mapping[str, Json] = {} if former is None else former.records
    imported = Imported(system=request.system, source=found.at, tag=source.tag, records=records)
    return _Target(
        graph_id=graph_id,
        source=source,
        former=imported,
        is_known=graph_id in before,
        came_from=None if former is None else former.source,
    )


def _refuse_other(
    request: ImportRequest, graph_id: str, former: Imported | None, *, is_there: bool, is_own: bool
) -> None:
    """Refuse to mix a list into a graph that holds something else, unless the caller names that graph.

    Raises:
        GraphExists: names the graph, and whose list it holds.
    """
    if former is not None and former.system != request.system:
        raise GraphExists(
            f"The graph {graph_id} holds a list of another program.",
            hint="Name another graph: --graph-id ID.",
            graph_id=graph_id,
        )
    if not is_own and request.graph_id is None and (former is not None or is_there):
        what = "was imported from another place" if former is not None else "was not imported"
        raise GraphExists(
            f"There is a graph {graph_id} already, and it {what}.",
            hint=f"Pass --graph-id {graph_id} to merge the list into it, or name another graph.",
            graph_id=graph_id,
        )


# --- the answer ----------------------------------------------------------------------------------------------------


def _outcome(target: _Target, listed: ListedNodes, merge: Merge) -> ImportedGraph:
    told = [each for each in merge.outcomes if each.outcome != "unchanged"]

    def count(outcome: str) -> int:
        return sum(each.outcome == outcome for each in merge.outcomes)

    return ImportedGraph(
        graph_id=target.graph_id,
        title=target.source.title,
        is_new=bool(merge.created) and len(merge.created) == len(merge.whole["nodes"]),
        records=len(listed.nodes),
        created=count("created"),
        updated=count("updated"),
        unchanged=count("unchanged"),
        stale_skipped=count("stale_skipped"),
        kept_here=count("kept_here"),
        vanished=count("vanished"),
        held=sum(each.fields["status"] == "blocked" for each in listed.nodes),
        edges_used=listed.edges_used,
        edges_ignored=listed.edges_ignored,
        records_ignored=listed.records_ignored,
        nodes=tuple(_least_expected_first(told)[:_MOST_NODES]),
        nodes_omitted=max(0, len(told) - _MOST_NODES),
    )


def _least_expected_first(told: Sequence[NodeOutcome]) -> list[NodeOutcome]:
    order = ("vanished", "stale_skipped", "kept_here", "updated", "created")
    return sorted(told, key=lambda each: order.index(each.outcome))


def _next_step(graphs: Sequence[ImportedGraph], *, dry_run: bool) -> str:
    if dry_run:
        return "Nothing was written. Run it again without --dry-run to import."
    if any(each.held for each in graphs):
        return (
            "metagit-mcp schedule next shows what can be started; metagit-mcp task list --status blocked what is held."
        )
    return "metagit-mcp schedule next shows what can be started."
