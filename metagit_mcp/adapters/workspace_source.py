"""Reads the whole workspace into one image, each part again only when it changed. Knows no rule of scheduling.

Whoever keeps the former image can tell by identity what changed: the image, its graphs, surroundings, approvals
and policy are the same objects as long as they say the same.
"""

import gc
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from threading import Lock
from typing import Final

from metagit_mcp.adapters.approvals import ApprovalFile
from metagit_mcp.adapters.changes import NOTHING, Changes
from metagit_mcp.adapters.graph_files import GraphFiles
from metagit_mcp.adapters.kept import Kept, learn, read_kept
from metagit_mcp.adapters.layout import (
    APPROVALS_NAME,
    GRAPHS,
    KEPT_NAME,
    MERGES,
    POLICY_NAME,
    SCHEDULE,
    WORKTREES,
    WORKTREES_NAME,
)
from metagit_mcp.adapters.merge_queue import MergeQueue
from metagit_mcp.adapters.patience import Patience
from metagit_mcp.adapters.policy_file import PolicyFile
from metagit_mcp.adapters.refusals import workspace_gone
from metagit_mcp.adapters.services import ServiceLog
from metagit_mcp.adapters.stale import Stale
from metagit_mcp.adapters.worktrees import WorktreeFile
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.tasks import LoadedGraph, TaskNode, is_parked
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.workspace import WorkspaceImage
from metagit_mcp.scheduling.snapshot import Surroundings

_RAN: Final = ("running", "completed")


class WorkspaceFiles:
    """The files of one workspace as one image; also remembers our fields in them. May be used from any thread."""

    def __init__(self, root: str, changes: Changes, patience: Patience | None = None) -> None:
        """Read nothing yet."""
        self._root = root
        self._changes = changes
        self._patience = patience or Patience()
        self._lock = Lock()
        self._stale = Stale(everything=True)
        self._kept = Kept()
        self._graphs = GraphFiles(root, self._patience)
        self._policy = PolicyFile(root, self._patience)
        self._worktrees = WorktreeFile(root, self._patience)
        self._merges = MergeQueue(root, self._patience)
        self._approvals = ApprovalFile(root)
        self._services = ServiceLog(root)
        self._runs = _Runs()
        self._image: WorkspaceImage | None = None

    def changed(self) -> bool:
        """Say whether anything may have changed since the last reading; see `ports.workspace.WorkspaceSource`."""
        if not self._lock.acquire(blocking=False):
            # Another thread is reading at this moment.
            return True
        try:
            return self._is_stale()
        finally:
            self._lock.release()

    def read(self) -> WorkspaceImage:
        """Read what changed and return the image; never raises for what stands in the workspace.

        Raises:
            WorkspaceNotFound: the workspace itself is gone, which must not look like one without work.
        """
        with self._lock:
            if not os.path.isdir(self._root):
                self._stale.add_everything()
                raise workspace_gone(self._root)
            if not self._is_stale() and self._image is not None:
                return self._image
            stale, self._stale = self._stale, Stale()
            try:
                with _uncollected(is_first=self._image is None):
                    self._refresh(stale)
                    self._image = self._composed()
            except BaseException:
                self._stale.add_everything()
                raise
            return self._image

    def remember(self) -> tuple[str, ...]:
        """Bring kept.json up to date with what was read last; return a warning where that cannot be written."""
        with self._lock:
            graphs, policy = self._graphs.lessons(), self._policy.lesson()
            if not graphs and policy is None:
                return ()
            try:
                kept = learn(self._root, self._kept, graphs, policy)
            except MetagitError as error:
                return (f"fields of ours are not kept against other programs: {error.message}",)
            self._graphs.taught()
            self._policy.taught()
            self._kept = kept
            return ()

    def _is_stale(self) -> bool:
        report = self._changes.drain()
        if report is not NOTHING:
            self._stale.note(report, with_decisions=self._wants_services())
        if self._worktrees.look():
            self._stale.add(WORKTREES, WORKTREES_NAME)
        return bool(self._stale)

    def _wants_services(self) -> bool:
        policy = self._policy.now.policy
        return policy is not None and wants_fairness(policy)

    def _refresh(self, stale: Stale) -> None:
        self._patience.begin()
        kept = self._kept
        if stale.has(SCHEDULE, KEPT_NAME):
            fresh = read_kept(self._root)
            is_former_better = fresh.passing and self._image is not None
            kept = kept if fresh == kept or is_former_better else fresh
            if fresh.passing:
                self._stale.add(SCHEDULE, KEPT_NAME)
        if stale.has(SCHEDULE, POLICY_NAME) or kept.policy != self._kept.policy:
            self._policy.refresh(kept)
        self._kept = kept
        self._graphs.refresh(stale.named(GRAPHS), kept)
        self._merges.refresh(stale.named(MERGES))
        if stale.has(WORKTREES, WORKTREES_NAME):
            self._worktrees.refresh()
        if stale.has(SCHEDULE, APPROVALS_NAME):
            self._approvals.refresh()
        self._note_again()

    def _note_again(self) -> None:
        """Note the files that were being written: the next reading looks at them again."""
        for folder, names in ((GRAPHS, self._graphs.again), (MERGES, self._merges.again)):
            for name in names:
                self._stale.add(folder, name)
        singles = (
            (self._policy.again, SCHEDULE, POLICY_NAME),
            (self._worktrees.again, WORKTREES, WORKTREES_NAME),
            (self._approvals.again, SCHEDULE, APPROVALS_NAME),
        )
        for again, folder, name in singles:
            if again:
                self._stale.add(folder, name)

    def _composed(self) -> WorkspaceImage:
        former = self._image
        around = self._surroundings()
        image = WorkspaceImage(
            policy=self._policy.now.policy,
            policy_error=self._policy.now.error,
            revision=self._policy.now.revision,
            graphs=self._graphs.graphs,
            surroundings=former.surroundings if former and around == former.surroundings else around,
            approvals=self._approvals.approvals,
            state_version=self._version(around),
            warnings=self._warnings(),
        )
        return former if former is not None and _is_same(image, former) else image

    def _surroundings(self) -> Surroundings:
        policy = self._policy.now.policy
        services: Mapping[str, int] = {}
        if policy is not None and wants_fairness(policy):
            self._runs.follow(self._graphs.graphs)
            services = self._services.services(policy.fairness_window, self._runs.ran)
        return Surroundings(worktrees=self._worktrees.trees(), merge_depth=self._merges.depths(), services=services)

    def _warnings(self) -> tuple[str, ...]:
        kept = (self._kept.warning,) if self._kept.warning else ()
        found = {
            *kept,
            *self._policy.now.warnings,
            *self._graphs.warnings(),
            *self._worktrees.warnings(),
            *self._merges.warnings(),
            *self._approvals.warnings,
        }
        return tuple(sorted(found))

    def _version(self, around: Surroundings) -> str:
        """Return the state version: the same wherever files, worktrees and services say the same."""
        told = blake2b(digest_size=6)
        graphs = [(graph_id, loaded.digest) for graph_id, loaded in sorted(self._graphs.graphs.items())]
        trees = [
            (tree.repository, tree.agent_id, tree.path, tree.on_disk, str(tree.updated_at)) for tree in around.worktrees
        ]
        approvals = [
            (graph_id, each.node_id, each.epoch, each.digest)
            for graph_id, several in sorted(self._approvals.approvals.items())
            for each in several
        ]
        counts = (sorted(around.merge_depth.items()), sorted(around.services.items()))
        for part in (graphs, self._policy.now.fingerprint, trees, approvals, counts):
            told.update(repr(part).encode("utf-8", "backslashreplace"))
        return told.hexdigest()


def _is_same(image: WorkspaceImage, former: WorkspaceImage) -> bool:
    return (
        image.graphs is former.graphs
        and image.surroundings is former.surroundings
        and image.approvals is former.approvals
        and image.policy is former.policy
        and (image.state_version, image.warnings) == (former.state_version, former.warnings)
    )


def wants_fairness(policy: SchedulePolicy) -> bool:
    """Say whether some graph's score depends on how often repositories were served."""
    return policy.weights.fairness > 0 or any((each.fairness or 0) > 0 for each in policy.graph_overrides.values())


class _Runs:
    """Which nodes ran, looked up per graph once it is asked for."""

    def __init__(self) -> None:
        self._graphs: Mapping[str, LoadedGraph] = {}
        self._ran: dict[str, tuple[LoadedGraph, frozenset[str]]] = {}

    def follow(self, graphs: Mapping[str, LoadedGraph]) -> None:
        self._graphs = graphs

    def ran(self, graph_id: str, node_id: str) -> bool:
        loaded = self._graphs.get(graph_id)
        if loaded is None or loaded.graph is None:
            return False
        known = self._ran.get(graph_id)
        if known is None or known[0] is not loaded:
            known = (loaded, frozenset(node.node_id for node in loaded.graph.nodes if _has_run(node)))
            self._ran[graph_id] = known
        return node_id in known[1]


def _has_run(node: TaskNode) -> bool:
    return node.status in _RAN or is_parked(node)


@contextmanager
def _uncollected(*, is_first: bool) -> Iterator[None]:
    """Load for the first time without collecting garbage: there is none, and looking for it costs a third of the time.

    What was loaded is then left out of later collections too.
    """
    if not is_first or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()
