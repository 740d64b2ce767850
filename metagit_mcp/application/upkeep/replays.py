"""Reads the ledger anew and says where that leads elsewhere than the live state; keeps snapshots. Mends nothing.

The answer about one Group rests on that Group's part of the state alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from metagit_mcp.application.turns.ledger import Ledger, is_of
from metagit_mcp.application.turns.shared import Shared
from metagit_mcp.application.upkeep.soundness import Soundness
from metagit_mcp.domain.replay import first_difference
from metagit_mcp.domain.shares import Level, Pool, Shares
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.text import shown
from metagit_mcp.errors import InvalidStateTransition, StoreUnavailable
from metagit_mcp.ports.ledger import EventStore, LedgerMark
from metagit_mcp.ports.machine import Ids
from metagit_mcp.wire.group_answers import GroupReplay, SnapshotAnswer, VerifyAnswer


class Replays:
    """The checks behind `group verify` and `group snapshot`."""

    def __init__(self, shared: Shared, store: EventStore, ids: Ids) -> None:
        """Look at nothing yet."""
        self._shared = shared
        self._store = store
        self._ids = ids
        self._soundness = Soundness(shared, store, ids)

    def verify(self, group_id: str | None) -> VerifyAnswer:
        """Compare the whole state, or one Group's part of it.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read.
        """
        anew = Ledger(self._store, self._ids)
        anew.follow()
        replayed = self._soundness.replayed(anew.mark)
        live = self._shared.ledger
        # Where another process went on meanwhile, what is read anew is newer than what is live here.
        states = [live.state, anew.state] if live.mark == anew.mark else [anew.state]
        whole = _differs_at(states, replayed) if group_id is None else None
        groups = tuple(_compared(name, states, replayed) for name in _names(group_id, [*states, replayed]))
        is_same = whole is None and all(each.same for each in groups)
        snapshot_position = self._snapshot_position(anew.mark)
        return VerifyAnswer(
            position=anew.mark.position,
            snapshot_position=snapshot_position,
            same=is_same,
            groups=groups,
            differs_at=whole,
            warnings=(),
            next_step=_next_step(snapshot_position, is_same=is_same),
        )

    def _snapshot_position(self, mark: LedgerMark) -> int:
        snapshot = self._store.snapshot()
        return snapshot.position if snapshot is not None and is_of(snapshot, mark) else 0

    def snapshot(self) -> SnapshotAnswer:
        """Keep the live state with the ledger.

        Raises:
            InvalidStateTransition: there is no ledger yet.
            StoreUnavailable: it was not kept.
        """
        ledger = self._shared.ledger
        if not ledger.mark.workspace_id:
            raise InvalidStateTransition(
                "There is no ledger yet.", hint="It begins with the first claim, or the first Events of a Group."
            )
        ledger.keep_snapshot()
        kept = self._store.snapshot()
        if kept is None or not is_of(kept, self._store.mark()) or kept.position < ledger.mark.position:
            raise StoreUnavailable("The snapshot could not be kept.", hint="Look whether the ledger can be written.")
        return SnapshotAnswer(
            position=kept.position,
            bytes=len(kept.body),
            warnings=(),
            next_step="metagit-mcp group verify compares it with the whole ledger.",
        )


def _next_step(snapshot_position: int, *, is_same: bool) -> str:
    if not is_same:
        return "metagit-mcp doctor says what to do."
    if snapshot_position:
        return "The ledger leads to the live state."
    return "There is no snapshot yet to compare with: metagit-mcp group snapshot keeps one."


def part_of(state: LedgerState, group_id: str) -> LedgerState:
    """Return what of a state is one Group's: feed and outbox, items, live leases, approvals, tags."""
    own = (group_id,)
    return LedgerState(
        feeds={name: state.feeds[name] for name in own if name in state.feeds},
        items={name: state.items[name] for name in own if name in state.items},
        approvals={name: state.approvals[name] for name in own if name in state.approvals},
        leases={name: lease for name, lease in state.leases.items() if lease.graph_id == group_id},
        shares=Shares(
            pools={name: _tags(pool, group_id) for name, pool in state.shares.pools.items()},
            rounds={name: state.shares.rounds[name] for name in own if name in state.shares.rounds},
        ),
    )


def _tags(pool: Pool, group_id: str) -> Pool:
    levels = {
        name: Level(flows={group_id: level.flows[group_id]})
        for name, level in pool.levels.items()
        if group_id in level.flows
    }
    return replace(pool, levels=levels)


def _names(group_id: str | None, states: Iterable[LedgerState]) -> list[str]:
    return [group_id] if group_id is not None else sorted({name for state in states for name in state.feeds})


def _compared(group_id: str, states: Sequence[LedgerState], replayed: LedgerState) -> GroupReplay:
    own = part_of(replayed, group_id)
    differs_at = _differs_at([part_of(state, group_id) for state in states], own)
    feed = states[0].feeds.get(group_id)
    return GroupReplay(
        group_id=group_id,
        cursor=0 if feed is None else feed.cursor,
        items=len(states[0].items.get(group_id, {})),
        same=differs_at is None,
        differs_at=differs_at,
    )


def _differs_at(states: Iterable[LedgerState], replayed: LedgerState) -> str | None:
    """Return where one of them differs first; what stands there may be words of an agent, so the place is enough."""
    found = (first_difference(state, replayed) for state in states)
    first = next((each for each in found if each is not None), None)
    return None if first is None else shown(first.partition(": ")[0])
