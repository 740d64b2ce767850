"""Nobody holds the view while it is brought up to date, whoever waits for that or gives up."""

from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any

import pytest

from metagit_mcp.adapters.memory import MemoryEventStore
from metagit_mcp.application.turns.current import Current
from metagit_mcp.domain.events import SchedulingPaused
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.errors import PolicyInvalid, StoreUnavailable
from metagit_mcp.ports.workspace import WorkspaceImage
from metagit_mcp.scheduling.snapshot import Surroundings
from tests.snapshots import NOW
from tests.unit.application.alone import current_over

Job = Callable[[], object]


def image(version: str, error: PolicyInvalid | None = None) -> WorkspaceImage:
    return WorkspaceImage(
        policy=None if error else SchedulePolicy(),
        policy_error=error,
        revision="",
        graphs={},
        surroundings=Surroundings(),
        approvals={},
        state_version=version,
        warnings=(),
    )


class Source:
    """A workspace whose image is replaced by the test."""

    def __init__(self) -> None:
        self.there = image("1")
        self.read_so_far: WorkspaceImage | None = None
        self.meanwhile: Job = lambda: None

    def changed(self) -> bool:
        return self.there is not self.read_so_far

    def read(self) -> WorkspaceImage:
        self.read_so_far = self.there
        self.meanwhile()
        return self.there


@coroutine
def handed_over(blocking: Job) -> Generator[Job, None, Any]:
    """Give the blocking work to the test, which does it or not."""
    return (yield blocking)


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def current(source: Source) -> Current:
    return current_over(source, handed_over)


def waits(caller: Coroutine[Any, Any, Any]) -> Job:
    """Go on until the caller waits for blocking work, and return the work."""
    job: Job = caller.send(None)
    return job


def answered(caller: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - whatever it returns
    """Go on to the end."""
    with pytest.raises(StopIteration) as done:
        caller.send(None)
    return done.value.value


def test_what_did_not_change_is_not_read_again(current: Current, source: Source) -> None:
    first = current.image()
    waits(first)()
    assert answered(first) is source.there
    assert answered(current.image()) is source.there


def test_a_caller_does_not_go_on_while_another_is_about_to_catch_up(current: Current, source: Source) -> None:
    first = current.view()
    waits(first)()
    source.there = image("2")
    second = current.view()
    catching_up = waits(second)
    behind_it = waits(first)
    catching_up()
    behind_it()
    assert [answered(each).image.state_version for each in (first, second)] == ["2", "2"]


def test_a_catch_up_that_was_given_up_before_it_began_never_begins(current: Current, source: Source) -> None:
    first = current.image()
    late = waits(first)
    first.close()
    with pytest.raises(StoreUnavailable):
        late()
    assert source.read_so_far is None
    second = current.image()
    waits(second)()
    assert answered(second) is source.there


def test_a_catch_up_that_goes_on_after_it_was_given_up_is_waited_for(current: Current, source: Source) -> None:
    first, second = current.image(), current.image()
    catching_up = waits(first)
    waiting: list[Job] = []

    def give_up() -> None:
        source.meanwhile = lambda: None
        first.close()
        waiting.append(waits(second))

    source.meanwhile = give_up
    catching_up()
    waiting.pop()()
    assert answered(second) is source.there


def test_who_waited_for_a_command_that_failed_does_not_take_the_ledger_for_empty(
    current: Current, source: Source
) -> None:
    """What a failed turn let happen is thrown away with all that was known: nobody looks before it is read anew."""
    paused = SchedulingPaused(at=NOW, scope="workspace", name="", by="ada", reason="")
    command = current.command(lambda turn: turn.happen([paused]))
    waits(command)()
    answered(command)

    def fail(_: object) -> None:
        raise OSError

    source.there = image("2")
    looker, failing = current.work(), current.command(fail)
    catching_up, commanded = waits(looker), waits(failing)
    catching_up()
    behind_it = waits(looker)
    with pytest.raises(OSError):  # noqa: PT011 - it has no message
        commanded()
    behind_it()
    waits(looker)()
    assert [each.by for each in answered(looker).pauses.values()] == ["ada"]
    failing.close()


def test_those_who_come_before_a_look_at_a_far_ledger_share_it(
    current: Current, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look is a round trip: with one for each caller, a crowd that waits for work would wait for itself."""
    monkeypatch.setattr(MemoryEventStore, "shared_at", "postgresql://db/metagit")
    first, second, late = current.image(), current.image(), current.image()
    look, behind_it = waits(first), waits(second)
    behind_look: list[Job] = []
    source.meanwhile = lambda: behind_look.append(waits(late))
    look()
    assert answered(first) is source.there
    behind_it()
    assert answered(second) is source.there
    # Whoever came when it had begun looks again: something may have happened since.
    source.there = image("2")
    behind_look.pop()()
    source.meanwhile = lambda: None
    waits(late)()
    assert answered(late) is source.there


def test_a_catch_up_that_failed_leaves_the_way_free(current: Current, source: Source) -> None:
    def fail() -> None:
        source.read_so_far = None
        raise OSError

    source.meanwhile = fail
    first = current.image()
    job = waits(first)
    with pytest.raises(OSError):  # noqa: PT011 - it has no message
        job()
    first.close()
    source.meanwhile = lambda: None
    second = current.image()
    waits(second)()
    assert answered(second) is source.there


def test_a_policy_that_cannot_be_used_is_told_anew_each_time(current: Current, source: Source) -> None:
    error = PolicyInvalid("weights: unknown key", hint="Mend it.", field="weights")
    source.there = image("1", error)
    first = current.view()
    waits(first)()
    told = []
    for caller in (first, current.view()):
        with pytest.raises(PolicyInvalid) as caught:
            caller.send(None)
        told.append(caught.value)
    assert told[0] is not told[1]
    assert told[0].as_record() == told[1].as_record() == error.as_record()
