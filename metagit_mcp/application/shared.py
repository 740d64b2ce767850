"""What all use cases look at: the files, the ledger and the queue over both, kept in step. Answers no question.

Not for two at a time: `Current` gives each its turn.
"""

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from metagit_mcp.application.finding import again, usable_policy
from metagit_mcp.application.ledger import Ledger
from metagit_mcp.application.reconciliation import Reconciliation
from metagit_mcp.domain.charging import happened_to
from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import NodeKey
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports import Clock, WorkspaceImage, WorkspaceSource
from metagit_mcp.scheduling.cycle import WorkspaceQueue, unsettled_runs
from metagit_mcp.scheduling.snapshot import Snapshot

if TYPE_CHECKING:
    from metagit_mcp.domain.events import Event

_ANY_TIME: Final = datetime.min.replace(tzinfo=UTC)


@value
class View:
    """One consistent look at the workspace: what was read, the queue over it, the work under way, and the instant.

    `work` is what the ledger says, with what lapsed since and what other programs did. The queue is shared and may be
    rebuilt while the holder waits for something: use both before the next await.
    """

    image: WorkspaceImage
    policy: SchedulePolicy
    queue: WorkspaceQueue
    now: datetime
    work: LedgerState
    warnings: tuple[str, ...] = ()

    @property
    def state_version(self) -> str:
        """The version of files and ledger together: the same in every process that sees the same."""
        if not self.work.version:
            return self.image.state_version
        told = f"{self.image.state_version} {self.work.version}"
        return blake2b(told.encode(), digest_size=6).hexdigest()


class Shared:
    """The image, the queue, and the ledger behind them."""

    def __init__(self, source: WorkspaceSource, ledger: Ledger, clock: Clock) -> None:
        """Read nothing yet."""
        self.ledger = ledger
        self.reconciliation = Reconciliation()
        self.clock = clock
        self._source = source
        # The last one that could be used.
        self.policy = SchedulePolicy()
        self._image: WorkspaceImage | None = None
        self._queue: WorkspaceQueue | None = None
        self._ledger_error: MetagitError | None = None
        # What the queue was last told of the work, and which of it lapsed or was seen and is no event yet.
        self._told, self._told_mark = ledger.state, ledger.mark
        self._provisional: tuple[Event, ...] = ()
        self._provisional_keys: set[NodeKey] = set()

    @property
    def is_read(self) -> bool:
        """Whether the files were read at all."""
        return self._image is not None

    @property
    def image(self) -> WorkspaceImage:
        """What the files said when they were read last."""
        if self._image is None:  # pragma: no cover - nobody asks before the first catch-up
            raise AssertionError
        return self._image

    @property
    def known(self) -> Ledger:
        """The ledger, where it could be read.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: it could not; nobody knows who works on what.
        """
        if self._ledger_error is not None:
            raise again(self._ledger_error)
        return self.ledger

    def is_behind(self) -> bool:
        """Say whether files or ledger may have changed since; cheap."""
        # What was thrown away, or could not be read, is to be read anew, whatever the ledger says.
        if self._image is None or self.ledger.touched is None or self._ledger_error is not None:
            return True
        try:
            return self._source.changed() or self.ledger.is_behind()
        except MetagitError:
            return True

    def catch_up(self) -> None:
        """Read what changed in the files and in the ledger; one that cannot be read is said in `view`."""
        try:
            self.ledger.follow()
            self._ledger_error = None
        except MetagitError as error:
            self._ledger_error = error
        self._catch_up_with_files()

    def look_ahead(self) -> None:
        """Read what takes long before a turn reads the rest: files that changed, and a ledger that is not known yet."""
        if self._image is None or self.ledger.touched is None or self._ledger_error is not None:
            self.catch_up()
        else:
            self._catch_up_with_files()

    def catch_up_in_turn(self) -> None:
        """Catch up as the one writer, to whom the ledger has told all there is."""
        self._ledger_error = None
        self._catch_up_with_files()

    def _catch_up_with_files(self) -> None:
        if self._image is None or self._source.changed():
            self._take_over(self._source.read())
        self.follow_ledger()

    def _take_over(self, image: WorkspaceImage) -> None:
        if image is self._image:
            return
        if image.policy is None:
            self._queue = None
        else:
            self.policy = image.policy
            snapshot = snapshot_of(image, image.policy, self.ledger.state, self.clock.now())
            if self._queue is None:
                self._queue = WorkspaceQueue(snapshot)
            else:
                self._queue.refresh(snapshot)
        self._image = image
        # The queue may hold what is provisional, in Groups that did not change.
        touched, self.ledger.touched = self.ledger.touched, set()
        self.reconciliation.follow(image.graphs, self.ledger.state, touched)
        self._tell(self.ledger.state, None if touched is None else touched | self._provisional_keys)
        self._provisional, self._provisional_keys = (), set()

    def settle(self, graph_id: str) -> None:
        """Look again at a graph whose file was brought in step."""
        self.reconciliation.settle(self.image.graphs, self.ledger.state, graph_id)

    def follow_ledger(self) -> None:
        """Tell the queue what happened since it was told last."""
        touched, self.ledger.touched = self.ledger.touched, set()
        # What was about no node, such as a pause, is told too.
        if touched is None or self._told_mark != self.ledger.mark or self._told is not self.ledger.state:
            self.reconciliation.follow(self.image.graphs, self.ledger.state, touched)
            self._tell(self.ledger.state, None if touched is None else touched | self._provisional_keys)
            self._provisional, self._provisional_keys = (), set()

    def _tell(self, work: LedgerState, touched: set[NodeKey] | None) -> None:
        self._told, self._told_mark = work, self.ledger.mark
        if self._queue is None:
            return
        if touched is None:
            self._queue.refresh(replace(self._queue.snapshot, work=work))
        else:
            self._queue.follow(work, touched)

    def view(self, instant: Instant, *, in_turn: bool = False) -> View:
        """Return the view at this instant, with what lapsed and what others did until the next command writes it.

        `in_turn`: that command is the one that asks, and writes itself which runs of other programs it charges.

        Raises:
            PolicyInvalid: policy.json cannot be used.
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read; nobody knows who works on what.
        """
        _ = self.known
        policy = usable_policy(self.image)
        if self._queue is None:  # pragma: no cover - a catch-up leaves a queue wherever there is a policy
            raise AssertionError
        self._provide(instant)
        self._queue.go_on(instant.wall)
        if self._queue.unsettled_in and not in_turn:
            self._charge_runs(self._queue)
        return View(
            image=self.image,
            policy=policy,
            queue=self._queue,
            now=instant.wall,
            work=self._told,
            warnings=self.image.warnings + self.reconciliation.warnings(),
        )

    def unwritten_events(self, instant: Instant) -> "tuple[Event, ...]":
        """Return what happened without a command and is no event yet."""
        state, image = self.ledger.state, self.image
        if not (state.leases or state.terms or state.shares.holds or self.reconciliation.acted):
            return ()
        from metagit_mcp.domain.lapses import unwritten  # noqa: PLC0415 - a workspace without a ledger needs none of it

        seen = self.reconciliation.acts(image.graphs, state) if self.reconciliation.acted else ()
        return tuple(unwritten(state, seen, image.policy, instant))

    def _provide(self, instant: Instant) -> None:
        found = self.unwritten_events(instant)
        events = tuple(replace(event, at=_ANY_TIME) for event in found)
        if events == self._provisional:
            return
        from metagit_mcp.domain.evolve import evolve_all  # noqa: PLC0415 - a workspace without a ledger needs none of it

        branch = self.ledger.state.branch()
        keys = evolve_all(branch, found)
        self._tell(branch, keys | self._provisional_keys)
        self._provisional, self._provisional_keys = events, keys

    def _charge_runs(self, queue: WorkspaceQueue) -> None:
        """Let the queue see the runs of other programs charged, as the next claim will."""
        news = list(unsettled_runs(queue))
        if not news:
            return
        branch = self._told
        if branch is self.ledger.state:
            branch = replace(branch, shares=branch.shares.branch_of_charges())
        keys = {key for event in news if (key := happened_to(branch.shares, event)) is not None}
        self._tell(branch, keys | self._provisional_keys)
        self._provisional_keys |= keys


def snapshot_of(image: WorkspaceImage, policy: SchedulePolicy, work: LedgerState, now: datetime) -> Snapshot:
    """Return the frozen inputs of a cycle."""
    return Snapshot(
        policy=policy,
        graphs=image.graphs,
        surroundings=image.surroundings,
        approvals=image.approvals,
        work=work,
        now=now,
    )
