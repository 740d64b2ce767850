"""What all use cases look at: the files, the ledger and the queue over both, kept in step. Answers no question.

Not for two at a time: `Current` gives each its turn.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from metagit_mcp.application.finding import again, usable_policy
from metagit_mcp.application.turns.fed_graphs import FedGraphs
from metagit_mcp.application.turns.ledger import Ledger
from metagit_mcp.application.turns.reconciliation import Reconciliation
from metagit_mcp.domain.charging import happened_to
from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import NodeKey
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.machine import Clock
from metagit_mcp.ports.workspace import WorkspaceImage, WorkspaceSource
from metagit_mcp.scheduling.cycle import WorkspaceQueue, unsettled_runs
from metagit_mcp.scheduling.snapshot import Snapshot

if TYPE_CHECKING:
    from metagit_mcp.domain.events import Event

_ANY_TIME: Final = datetime.min.replace(tzinfo=UTC)


@value
class View:
    """One consistent look at the workspace: what was read, the queue over it, the work under way, and the instant.

    `work` is what the ledger says, with what lapsed since and what other programs did. `overruled` are the warnings
    about acts of those that do not count, each after its graph. The queue is shared and may be rebuilt while the holder
    waits for something: use both before the next await.
    """

    image: WorkspaceImage
    policy: SchedulePolicy
    queue: WorkspaceQueue
    now: datetime
    work: LedgerState
    warnings: tuple[str, ...] = ()
    overruled: tuple[tuple[str, str], ...] = ()

    def warnings_about(self, graph_id: str | None) -> tuple[str, ...]:
        """Return the warnings; of one Group only those about its graph, since the others may name other Groups."""
        if graph_id is None:
            return self.warnings
        return self.image.graphs[graph_id].warnings + tuple(told for name, told in self.overruled if name == graph_id)

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
        self._read: WorkspaceImage | None = None
        self._fed = FedGraphs()
        self._queue: WorkspaceQueue | None = None
        # What the queue was built over.
        self._queued: WorkspaceImage | None = None
        self._ledger_error: MetagitError | None = None
        # Up to where happenings were followed, and the nodes of which the queue is to be told yet (None: of all).
        self._followed, self._followed_mark = ledger.state, ledger.mark
        self._untold: set[NodeKey] | None = set()
        self._is_told = True
        # What the queue was last told of the work, and which of it lapsed or was seen and is no event yet.
        self._told = ledger.state
        self._provisional: tuple[Event, ...] = ()
        self._provisional_keys: set[NodeKey] = set()

    @property
    def is_read(self) -> bool:
        """Whether the files were read at all."""
        return self._read is not None

    @property
    def is_known(self) -> bool:
        """Whether there is something to look at: files that were read, a ledger that no failure threw away since."""
        return self._read is not None and self.ledger.touched is not None

    @property
    def image(self) -> WorkspaceImage:
        """What the files said when they were read last, with the Groups of the ledger in it."""
        if self._read is None:  # pragma: no cover - nobody asks before the first catch-up
            raise AssertionError
        return self._fed.beside(self._read, self.ledger.state.feeds)

    @property
    def filed(self) -> Mapping[str, LoadedGraph]:
        """The graphs that files have."""
        _ = self.image
        return self._fed.filed

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
        if self._read is None or self.ledger.touched is None or self._ledger_error is not None:
            return True
        try:
            return self._source.changed() or self.ledger.is_behind()
        except MetagitError:
            return True

    @property
    def is_far(self) -> bool:
        """Whether to find out what changed may take a while."""
        return self.ledger.is_far

    def catch_up_if_behind(self) -> None:
        """Read what changed, if anything did."""
        if self.is_behind():
            self.catch_up()

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
        if self._read is None or self.ledger.touched is None or self._ledger_error is not None:
            self.catch_up()
        else:
            self._catch_up_with_files()

    def catch_up_in_turn(self) -> None:
        """Catch up as the one writer, to whom the ledger has told all there is."""
        self._ledger_error = None
        if self._told is not self.ledger.state:
            # The queue holds what is no event: the command that asks works out itself what of that it writes.
            self._is_told = False
        self._catch_up_with_files()

    def _catch_up_with_files(self) -> None:
        if self._read is None or self._source.changed():
            self._read = self._source.read()
            if self._read.policy is not None:
                self.policy = self._read.policy
        self.follow_ledger()

    def settle(self, graph_id: str) -> None:
        """Look again at a graph whose file was brought in step."""
        self.reconciliation.settle(self.filed, self.ledger.state, graph_id)

    def follow_ledger(self) -> None:
        """Take note of what changed in files and ledger; the queue is told when somebody asks it."""
        touched, self.ledger.touched = self.ledger.touched, set()
        self.reconciliation.follow(self.filed, self.ledger.state, touched)
        # What was about no node, such as a pause, is told too.
        if self._followed_mark != self.ledger.mark or self._followed is not self.ledger.state:
            self._followed, self._followed_mark = self.ledger.state, self.ledger.mark
            self._is_told = False
        if touched is None or self._untold is None:
            self._untold, self._is_told = None, False
        else:
            self._untold |= touched

    def _tell_news(self, image: WorkspaceImage, policy: SchedulePolicy) -> WorkspaceQueue:
        """Let the queue take over files and happenings; what it holds that is provisional ends with them."""
        if self._queue is None:
            snapshot = snapshot_of(image, policy, self.ledger.state, self.clock.now())
            self._queue, self._queued, self._is_told = WorkspaceQueue(snapshot), image, False
        elif image is not self._queued:
            snapshot = snapshot_of(image, policy, self.ledger.state, self.clock.now())
            self._queue.refresh(snapshot)
            self._queued, self._is_told = image, False
        if not self._is_told:
            untold, self._untold, self._is_told = self._untold, set(), True
            self._tell(self.ledger.state, None if untold is None else untold | self._provisional_keys)
            self._provisional, self._provisional_keys = (), set()
        return self._queue

    def _tell(self, work: LedgerState, touched: set[NodeKey] | None, charged: Iterable[str] = ()) -> None:
        self._told = work
        if self._queue is None:  # pragma: no cover - who tells has a queue
            raise AssertionError
        if touched is None:
            self._queue.refresh(replace(self._queue.snapshot, work=work))
        else:
            self._queue.follow(work, touched, charged)

    def view(self, instant: Instant, *, in_turn: bool = False) -> View:
        """Return the view at this instant, with what lapsed and what others did until the next command writes it.

        `in_turn`: that command is the one that asks. What lapsed until its instant has happened, and it writes itself
        which runs of other programs it charges.

        Raises:
            PolicyInvalid: policy.json cannot be used.
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read; nobody knows who works on what.
        """
        _ = self.known
        image = self.image
        policy = usable_policy(image)
        queue = self._tell_news(image, policy)
        overruled = tuple(self.reconciliation.overruled_acts())
        if not in_turn or self._provisional:
            self._provide(instant)
        queue.go_on(instant.wall)
        if queue.unsettled_in and not in_turn:
            self._charge_runs(queue)
        return View(
            image=image,
            policy=policy,
            queue=queue,
            now=instant.wall,
            work=self._told,
            warnings=image.warnings + tuple(warning for _, warning in overruled),
            overruled=overruled,
        )

    def take_over(self) -> None:
        """Let the queue take over what changed before anybody asks; what is wrong is said to whoever does."""
        if self._queue is not None and self.is_known:
            with suppress(MetagitError):
                self.view(self.clock.instant())

    def unwritten_events(self, instant: Instant) -> "tuple[Event, ...]":
        """Return what happened without a command and is no event yet."""
        state = self.ledger.state
        if not (state.leases or state.terms or state.shares.holds or self.reconciliation.acted):
            return ()
        from metagit_mcp.domain.lapses import unwritten  # noqa: PLC0415 - a workspace without a ledger needs none of it

        seen = self.reconciliation.acts(self.filed, state) if self.reconciliation.acted else ()
        return tuple(unwritten(state, seen, self.image.policy, instant))

    def work_now(self) -> LedgerState:
        """Return what the ledger says, with what happened without a command: no policy is needed for it.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: it could not be read.
        """
        state, found = self.known.state, self.unwritten_events(self.clock.instant())
        if not found:
            return state
        from metagit_mcp.domain.evolve import evolve_all  # noqa: PLC0415 - a workspace without a ledger needs none of it

        branch = state.branch()
        evolve_all(branch, found)
        return branch

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
        happened = [happened_to(branch.shares, event) for event in news]
        # Nothing is other than before about the nodes: one of each Group is enough for it to be noticed again.
        keys = {key[0]: key for key in happened if key is not None}
        self._tell(branch, set(), charged=keys)
        self._provisional_keys.update(keys.values())


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
