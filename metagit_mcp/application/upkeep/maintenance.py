"""Looks the whole workspace over, and mends what is safe to mend: the use case of `doctor`. Knows no file and no SQL.

Every check stands on its own: whatever is damaged, the others go on. A mend is believed only after a second look.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final, TypeVar

from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.shared import Shared
from metagit_mcp.application.upkeep.loose_ends import LooseEnds
from metagit_mcp.application.upkeep.soundness import Soundness
from metagit_mcp.domain.place import WorkspacePlace
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.domain.value import value
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.housekeeping import Fault, Housekeeping
from metagit_mcp.ports.ledger import EventStore
from metagit_mcp.ports.machine import Ids, Offload
from metagit_mcp.wire.diagnosis import DoctorAnswer, DoctorFinding

T = TypeVar("T")
Look = Callable[[], Awaitable[Sequence[Fault]]]
Mend = Callable[[], Awaitable[object]]

FIX: Final = "metagit-mcp doctor --fix"
_ITSELF: Final = "metagit-mcp doctor"
_LEFT_OVER_AFTER: Final = timedelta(hours=1)
_READ_ONLY: Final = "this user cannot write into the workspace: nothing was mended"
_UNSOUND: Final = "the ledger is not sound: nothing is written from it"


@value
class _Part:
    """One look, and what mends the mendable faults that it finds.

    `is_vital`: with such a fault the ledger is not sound. `needs_sound`: the mend writes what the ledger says.
    """

    look: Look
    mend: Mend | None = None
    is_vital: bool = False
    needs_sound: bool = False


@value
class _Check:
    """Looks at one thing; `fine` says how it is when nothing was found."""

    name: str
    parts: tuple[_Part, ...]
    fine: Callable[[], str]


class Maintenance:
    """The doctor of one workspace."""

    def __init__(
        self,
        place: WorkspacePlace,
        current: Current,
        shared: Shared,
        store: EventStore,
        housekeeping: Housekeeping,
        ids: Ids,
        offload: Offload,
    ) -> None:
        """Look at nothing yet."""
        self._place = place
        self._current = current
        self._shared = shared
        self._soundness = Soundness(shared, store, ids)
        self._loose_ends = LooseEnds(current, shared)
        self._house = housekeeping
        self._offload = offload

    async def doctor(self, *, fix: bool) -> DoctorAnswer:
        """Return what every check found; with `fix`, what is safe to mend is mended before."""
        hindrance = await self._offload(self._house.hindrance) if fix else None
        can_fix = fix and (hindrance is None or hindrance.is_harm)
        round_ = _Round(fix=can_fix)
        for check in self._checks():
            await round_.go_through(check)
        image = self._shared.image.warnings if self._shared.is_read else ()
        told = {each.what for each in round_.findings}
        return DoctorAnswer(
            checks=tuple(round_.findings),
            problems=round_.count("wrong"),
            fixed=round_.count("fixed"),
            warnings=(
                *([_READ_ONLY] if fix and not can_fix else ()),
                *dict.fromkeys(round_.warnings),
                *(warning for warning in image if warning not in told),
            ),
            next_step=_next_step(round_.findings),
        )

    def _checks(self) -> Iterator[_Check]:
        house, loose, soundness = self._house, self._loose_ends, self._soundness
        yield _Check(name="workspace", parts=(_Part(look=self._writable),), fine=self._chosen)
        yield _Check(name="policy", parts=(_Part(look=self._policy),), fine=self._revision)
        yield self._of_files("kept", house.kept, house.set_kept_aside, "no field of ours was dropped")
        index = _Part(look=self._blocking(house.index), mend=self._blocking(house.mend_index))
        yield _Check(name="graphs", parts=(_Part(look=self._graphs), index), fine=self._graphs_read)
        yield self._of_files("logs", house.logs, house.mend_logs, "every line can be read")
        yield _Check(
            name="ledger",
            parts=(
                _Part(look=self._blocking(soundness.damage), is_vital=True),
                _Part(look=self._blocking(soundness.history), mend=self._blocking(soundness.restore), is_vital=True),
                _Part(look=self._blocking(self._beside), mend=self._blocking(self._mend_beside)),
            ),
            fine=self._ledger_stands,
        )
        ends = _Part(look=loose.ends, mend=loose.command_nothing, needs_sound=True)
        yield _Check(name="leases", parts=(_Part(look=loose.leases), ends), fine=self._leases_live)
        acts = _Part(look=loose.acts, mend=loose.command_nothing, needs_sound=True)
        rows = _Part(look=loose.unwritten_rows, mend=loose.write_back, needs_sound=True)
        yield _Check(name="files", parts=(acts, rows), fine=lambda: "graph files and ledger say the same")
        before = self._shared.clock.now() - _LEFT_OVER_AFTER
        yield self._of_files(
            "leftovers", lambda: house.leftovers(before), lambda: house.remove_leftovers(before), "nothing is left over"
        )

    def _of_files(self, name: str, look: Callable[[], Sequence[Fault]], mend: Callable[[], None], fine: str) -> _Check:
        part = _Part(look=self._blocking(look), mend=self._blocking(mend))
        return _Check(name=name, parts=(part,), fine=lambda: fine)

    def _blocking(self, work: Callable[[], T]) -> Callable[[], Awaitable[T]]:
        return lambda: self._offload(work)

    # --- the checks of what is read anyway -------------------------------------------------------------------------

    async def _writable(self) -> Sequence[Fault]:
        found = await self._offload(self._house.hindrance)
        return () if found is None else (replace(found, what=f"{self._chosen()}; {found.what}"),)

    def _chosen(self) -> str:
        return f"{self._place.path}, chosen by {self._place.chosen_by}"

    async def _policy(self) -> Sequence[Fault]:
        error = (await self._current.image()).policy_error
        return () if error is None else (_fault_of(error),)

    def _revision(self) -> str:
        return f"revision {self._shared.image.revision}"

    async def _graphs(self) -> Sequence[Fault]:
        graphs = (await self._current.image()).graphs.values()
        return tuple(fault for loaded in graphs for fault in _faults_of(loaded))

    def _graphs_read(self) -> str:
        return f"usable graphs: {len(self._shared.image.graphs)}"

    def _beside(self) -> Sequence[Fault]:
        return self._house.beside_ledger(self._soundness.mark().workspace_id)

    def _mend_beside(self) -> None:
        self._house.mend_beside_ledger(self._soundness.mark().workspace_id)

    def _ledger_stands(self) -> str:
        mark, shared_at = self._soundness.mark(), self._soundness.shared_at
        where = f" at {shared_at}, shared with other hosts" if shared_at else ""
        if not mark.workspace_id:
            return f"there is none yet{where}; the first claim makes it"
        return f"workspace {mark.workspace_id}{where}; its state follows from its events, {mark.position} so far"

    def _leases_live(self) -> str:
        return f"live leases: {len(self._shared.ledger.state.leases)}"


class _Round:
    """One round of all checks: what was found, and what could not be mended."""

    def __init__(self, *, fix: bool) -> None:
        self.findings: list[DoctorFinding] = []
        self.warnings: list[str] = []
        self._fix = fix
        self._is_sound = True

    def count(self, state: str) -> int:
        """Return how many findings are in a state."""
        return sum(each.state == state for each in self.findings)

    async def go_through(self, check: _Check) -> None:
        """Add what a check finds, each thing once."""
        found: dict[str, DoctorFinding] = {}
        for part in check.parts:
            fixed, left = await self._looked(part)
            for fault in fixed:
                found.setdefault(fault.what, DoctorFinding(check=check.name, state="fixed", what=fault.what))
            for fault in left:
                found.setdefault(fault.what, _finding(check.name, fault))
        self.findings += found.values() or (DoctorFinding(check=check.name, state="fine", what=check.fine()),)

    async def _looked(self, part: _Part) -> tuple[Iterable[Fault], Iterable[Fault]]:
        """Return what was fixed and what is left; nothing is fixed before it is seen to be."""
        found = await _seen(part.look)
        left = found
        if self._fix and part.mend is not None and any(each.is_mendable for each in found):
            await self._mended(part, part.mend)
            left = await _seen(part.look)
        if part.is_vital and any(each.is_harm for each in left):
            self._is_sound = False
        return [each for each in found if each.is_mendable and each not in left], left

    async def _mended(self, part: _Part, mend: Mend) -> None:
        if part.needs_sound and not self._is_sound:
            self.warnings.append(_UNSOUND)
            return
        try:
            await mend()
        except MetagitError as error:
            self.warnings.append(error.message)


async def _seen(look: Look) -> Sequence[Fault]:
    try:
        return await look()
    except MetagitError as error:
        return (_fault_of(error),)
    except Exception as failure:  # noqa: BLE001 - a check that fails must not end the others
        return (Fault(what=f"this check itself failed: {type(failure).__name__}"),)


def _finding(name: str, fault: Fault) -> DoctorFinding:
    mend = FIX if fault.is_mendable else fault.command
    return DoctorFinding(check=name, state="wrong" if fault.is_harm else "note", what=fault.what, mend=mend)


def _fault_of(error: MetagitError) -> Fault:
    """Return what an error says and advises; that the doctor should be asked is no advice here."""
    advice = [part for part in error.hint.split(". ") if _ITSELF not in part]
    return Fault(what=" ".join(filter(None, [error.message, ". ".join(advice)])))


def _faults_of(loaded: LoadedGraph) -> Iterator[Fault]:
    harm = {f"graph {loaded.graph_id}: {node_id}/{why}" for node_id, why in loaded.defects.items()} | {*loaded.left_out}
    for warning in loaded.warnings:
        yield Fault(what=warning, is_harm=loaded.graph is None or warning in harm)


def _next_step(findings: Iterable[DoctorFinding]) -> str:
    wrong = [each for each in findings if each.state == "wrong"]
    if any(each.mend == FIX for each in wrong):
        return f"{FIX} mends what is safe to mend; nothing else is changed."
    return "A person has to mend what is wrong." if wrong else "Nothing is to be done."
