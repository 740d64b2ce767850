"""Looks after the files of a workspace: what is damaged, out of step or left over. Knows no work and no rule."""

import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from metagit_mcp.adapters.files import TEMP_PREFIX, TEMP_SUFFIX, read_regular
from metagit_mcp.adapters.graph_files import read_graph
from metagit_mcp.adapters.graph_index import has_usable_list, list_anew, unlisted
from metagit_mcp.adapters.kept import Nodes, read_kept, set_unusable_aside
from metagit_mcp.adapters.layout import (
    AUDIT,
    DECISIONS,
    EVENTS,
    GRAPHS,
    IDENTITY,
    IMPORTS,
    INDEX,
    KEPT,
    METAGIT,
    SCHEDULE,
    SCHEDULER_EVENTS,
    TASK_EVENTS,
    TASKS,
)
from metagit_mcp.adapters.log_lines import LogFaults, log_faults, mend_log
from metagit_mcp.adapters.places import real_folder
from metagit_mcp.adapters.refusals import FileRefused, storage_error
from metagit_mcp.adapters.sqlite.beside import out_of_step, put_in_step
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.text import is_id, shown
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.housekeeping import Fault

_NAMED: Final = 5
# Long for a line, or for the time between a graph and its row in the list.
_IN_FLIGHT_S: Final = 0.2
# The logs with the kind of their fault points and the permissions that a file beside them gets.
_LOGS: Final = (
    (DECISIONS, "decisions", 0o600),
    (AUDIT, "audit", 0o600),
    (SCHEDULER_EVENTS, "events", 0o644),
    (TASK_EVENTS, "events", 0o644),
)
# What a disk must have left, in bytes: a graph file is written anew as a whole beside the old one.
_LEAST_ROOM: Final = 1 << 20
# Wherever a whole file is written.
_WRITTEN: Final = ("", METAGIT, TASKS, GRAPHS, SCHEDULE, IMPORTS, EVENTS)


class WorkspaceHousekeeping:
    """The `Housekeeping` of one workspace."""

    def __init__(self, root: str, pause: Callable[[float], None] = time.sleep) -> None:
        """Touch nothing yet; `pause` lets so many seconds pass, so that a writer may finish."""
        self._root = root
        self._pause = pause

    def hindrance(self) -> Fault | None:
        """Return what keeps this user from writing into the folders that are there, or from making the first of them.

        A disk that tells no size has room.
        """
        folders = [f"{self._root}/{name}" for name in (SCHEDULE, GRAPHS, EVENTS)]
        there = [folder for folder in folders if os.path.isdir(folder)] or [self._made_in()]
        if not all(os.access(folder, os.W_OK | os.X_OK) for folder in there):
            return Fault(what="this user cannot write into it, and has answers and previews only", is_harm=False)
        try:
            disk = os.statvfs(self._root)
        except OSError:
            return None
        is_full = disk.f_blocks > 0 and disk.f_bavail * disk.f_frsize < _LEAST_ROOM
        return Fault(what="its disk is full, and nothing more can be recorded") if is_full else None

    def _made_in(self) -> str:
        folder = f"{self._root}/{METAGIT}"
        return folder if os.path.isdir(folder) else self._root

    # --- kept.json -------------------------------------------------------------------------------------------------

    def kept(self) -> Sequence[Fault]:
        """Return what is wrong with kept.json, or which of its values stand in for dropped ones."""
        # Raises for a file that nobody here can mend.
        read_regular(f"{self._root}/{KEPT}", root=self._root)
        kept = read_kept(self._root)
        if kept.warning:
            return (Fault(what=kept.warning, is_mendable=not kept.passing),)
        dropped = [each for graph_id, nodes in sorted(kept.graphs.items()) for each in self._dropped(graph_id, nodes)]
        if not dropped:
            return ()
        what = f"in force though another program dropped them: {_some(dropped)}"
        return (Fault(what=what, is_harm=False),)

    def _dropped(self, graph_id: str, nodes: Nodes) -> Iterator[str]:
        raw = self._graph(graph_id)
        bare, full = (_nodes(graph_id, raw, kept) for kept in ({}, nodes))
        for node_id in sorted(bare.keys() & full.keys() & nodes.keys()):
            for name in sorted(nodes[node_id]):
                if getattr(bare[node_id], name, None) != getattr(full[node_id], name, None):
                    yield f"{graph_id}/{node_id} {name}"

    def _graph(self, graph_id: str) -> bytes:
        try:
            found = read_regular(f"{self._root}/{GRAPHS}/{graph_id}.json", root=self._root) if is_id(graph_id) else None
        except MetagitError:
            # What is wrong with a graph file is told by whoever reads all of them.
            return b""
        return b"" if found is None else found.raw

    def set_kept_aside(self) -> None:
        """Move a kept.json that cannot be used aside."""
        set_unusable_aside(self._root)

    # --- tasks/index.json ------------------------------------------------------------------------------------------

    def index(self) -> Sequence[Fault]:
        """Return where the list of graphs is not in step with their files."""
        if not has_usable_list(self._root):
            return (Fault(what=f"{INDEX} cannot be used: metagit's own commands stop at it", is_mendable=True),)
        graphs = self._unlisted()
        what = f"{INDEX} is not in step with these graphs: {_some(map(shown, graphs))}"
        return (Fault(what=what, is_mendable=True),) if graphs else ()

    def _unlisted(self) -> list[str]:
        """Return the graphs that are not about to be listed: whoever writes a graph brings the list in step next."""
        first = unlisted(self._root)
        if not first:
            return []
        self._pause(_IN_FLIGHT_S)
        return sorted(name for name, row in unlisted(self._root).items() if first.get(name) == row)

    def mend_index(self) -> None:
        """Write the list anew where it is not in step."""
        list_anew(self._root)

    # --- logs ------------------------------------------------------------------------------------------------------

    def logs(self) -> Sequence[Fault]:
        """Return what is wrong with each log; one that cannot be read harms no other."""
        return tuple(fault for name, _, _ in _LOGS for fault in self._log(name))

    def _log(self, name: str) -> Iterator[Fault]:
        path = f"{self._root}/{name}"
        try:
            found = log_faults(path, root=self._root)
            if found.is_torn or found.is_open:
                # It may be in the middle of being written.
                self._pause(_IN_FLIGHT_S)
                found = log_faults(path, root=self._root)
        except MetagitError as error:
            yield Fault(what=error.message)
            return
        yield from (Fault(what=f"{name}: {what}", is_mendable=True) for what in _said(found))
        if found.too_long:
            what = f"{name}: too long and passed over: {_lines(found.too_long)}"
            yield Fault(what=what, is_harm=False)

    def mend_logs(self) -> None:
        """Blank the bad lines of each log that can be read."""
        for name, kind, mode in _LOGS:
            path = f"{self._root}/{name}"
            try:
                mend_log(path, root=self._root, kind=kind, mode=mode)
            except FileRefused:
                # It is told of as it stands, and nobody can mend it here.
                continue

    # --- beside the ledger -----------------------------------------------------------------------------------------

    def beside_ledger(self, workspace_id: str) -> Sequence[Fault]:
        """Return the files that are not in step with the ledger; without one, the name of a lost one."""
        if not workspace_id:
            return self._lost()
        names = out_of_step(self._root, workspace_id)
        return tuple(Fault(what=f"{name} is not in step with the ledger", is_mendable=True) for name in names)

    def _lost(self) -> Sequence[Fault]:
        found = read_regular(f"{self._root}/{IDENTITY}", root=self._root)
        if found is None:
            return ()
        try:
            named = json.loads(found.raw)["workspace_id"]
        except (ValueError, KeyError, TypeError):
            named = "?"
        what = f"{IDENTITY} names the ledger of workspace {shown(str(named), 40)}, which is not there"
        return (Fault(what=what, is_harm=False),)

    def mend_beside_ledger(self, workspace_id: str) -> None:
        """Write what is missing or different."""
        if workspace_id:
            put_in_step(self._root, workspace_id)

    # --- leftovers -------------------------------------------------------------------------------------------------

    def leftovers(self, before: datetime) -> Sequence[Fault]:
        """Return one fault for all temporary files of that age."""
        names = [os.path.relpath(path, self._root) for path in self._left(before)]
        what = f"left behind by writers that were killed: {_some(map(shown, names))}"
        return (Fault(what=what, is_mendable=True),) if names else ()

    def remove_leftovers(self, before: datetime) -> None:
        """Remove them, as far as this user may."""
        for path in list(self._left(before)):
            try:
                os.unlink(path)
            except FileNotFoundError:
                continue
            except OSError as cause:
                raise storage_error(cause, os.path.relpath(path, self._root)) from cause

    def _left(self, before: datetime) -> Iterator[str]:
        for name in _WRITTEN:
            for path in _temporary(f"{self._root}/{name}".rstrip("/"), self._root):
                try:
                    found = os.lstat(path)
                except FileNotFoundError:
                    continue
                if stat.S_ISREG(found.st_mode) and found.st_mtime < before.timestamp():
                    yield path


def _temporary(folder: str, root: str) -> list[str]:
    try:
        real = real_folder(folder, root=root)
        names = sorted(os.listdir(real))
    except (OSError, MetagitError):
        # A folder that is not there or leads out of the workspace holds nothing of ours.
        return []
    return [f"{real}/{name}" for name in names if name.startswith(TEMP_PREFIX) and name.endswith(TEMP_SUFFIX)]


def _nodes(graph_id: str, raw: bytes, kept: Nodes) -> dict[str, TaskNode]:
    graph = read_graph(graph_id, raw, kept).loaded.graph
    return {} if graph is None else {node.node_id: node for node in graph.nodes}


def _said(found: LogFaults) -> Iterator[str]:
    if found.bad:
        yield f"no JSON: {_lines(found.bad)}"
    if found.is_torn:
        yield "the last line is cut off"
    if found.is_open:
        yield "the last line has no newline, so that it does not count"


def _lines(numbers: Sequence[int]) -> str:
    return f"line{'s' if len(numbers) > 1 else ''} {_some(numbers)}"


def _some(several: Iterable[object]) -> str:
    names = [str(each) for each in several]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
