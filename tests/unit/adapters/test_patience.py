"""A file that is being written is looked at again, 200 ms at most in all, and never while a former version stands."""

from metagit_mcp.adapters.patience import Draft, Patience
from tests.unit.adapters.reading import Time

HALF = Draft("half", passing=True)
WHOLE = Draft("whole")


def looks(*drafts: Draft[str]) -> list[Draft[str]]:
    return list(reversed(drafts))


def test_a_whole_file_is_looked_at_once() -> None:
    time = Time()
    left = looks(WHOLE)
    assert Patience(time.now, time.pause).settle(left.pop, None) == WHOLE
    assert (left, time.pauses) == ([], 0)


def test_without_a_former_version_it_is_looked_at_until_it_is_whole() -> None:
    time = Time()
    assert Patience(time.now, time.pause).settle(looks(HALF, HALF, WHOLE).pop, None) == WHOLE
    assert time.pauses == 2


def test_a_former_version_stands_without_a_pause() -> None:
    time = Time()
    assert Patience(time.now, time.pause).settle(looks(HALF).pop, "former") == Draft("former", passing=True)
    assert time.pauses == 0


def test_all_waits_of_one_reading_together_take_200_ms() -> None:
    time = Time()
    patience = Patience(time.now, time.pause)
    assert patience.settle(lambda: HALF, None) == HALF
    assert (time.pauses, time.now_ns) == (20, 200_000_000)
    assert patience.settle(lambda: HALF, None) == HALF
    assert time.pauses == 20

    patience.begin()
    assert patience.settle(looks(HALF, WHOLE).pop, None) == WHOLE
    assert time.pauses == 21


def test_a_file_is_young_for_200_ms_also_on_a_server_whose_clock_is_ahead() -> None:
    time = Time()
    patience = Patience(time.now, time.pause)
    time.now_ns = 10**18
    ages_ms = (-201, -199, 0, 199, 201)
    assert [patience.is_young(10**18 - age * 1_000_000) for age in ages_ms] == [False, True, True, True, False]
