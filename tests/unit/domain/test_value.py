"""A core value is what `dataclass(frozen=True, slots=True, kw_only=True)` makes, made faster."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, Generic, TypeVar

import pytest

from metagit_mcp.domain.value import changed, copies_of, rows_of, value
from metagit_mcp.domain.work import Usage

S = TypeVar("S")


@value
class Plain:
    """Derived from nothing."""

    name: str
    many: list[int] = dataclasses.field(default_factory=list)
    few: int = 0


@value
class Derived(Generic[S]):
    """Derived from something."""

    name: str
    few: int = 0


SHAPES = (Plain, Derived)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_value_is_filled_by_keywords_with_its_defaults(shape: type[Any]) -> None:
    assert (shape(name="a").few, shape(name="a", few=2).few) == (0, 2)
    assert type(shape(name="a")) is shape
    assert not hasattr(shape(name="a"), "__dict__")


def test_a_default_is_made_for_each_value() -> None:
    one, other = Plain(name="a"), Plain(name="a")
    one.many.append(1)
    assert (one.many, other.many) == ([1], [])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("given", [{}, {"name": "a", "colour": "red"}])
def test_what_is_missing_or_unknown_is_refused(shape: type[Any], given: dict[str, str]) -> None:
    with pytest.raises(TypeError):
        shape(**given)
    with pytest.raises(TypeError):
        shape("a")


def test_rows_are_values_of_the_columns_and_the_defaults() -> None:
    one, other = rows_of(Plain, 2, {"few": [1, 2], "name": ["a", "b"]})
    assert [one, other] == [Plain(name="a", few=1), Plain(name="b", few=2)]
    assert {type(one), type(other)} == {Plain}
    one.many.append(1)
    assert other.many == []
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.name = "c"  # type: ignore[misc]  # that is what is tried
    assert rows_of(Plain, 1, {"name": ["a"]}) == [Plain(name="a")]
    assert rows_of(Usage, 2, {}) == [Usage(), Usage()]


@pytest.mark.parametrize(
    ("columns", "refusal"),
    [
        ({"name": ["a"]}, ValueError),
        ({"name": ["a", "b", "c"]}, ValueError),
        ({"few": [1, 2]}, TypeError),
        ({"name": ["a", "b"], "colour": ["red", "red"]}, TypeError),
    ],
)
def test_rows_of_other_columns_are_refused(columns: dict[str, list[object]], refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        rows_of(Plain, 2, columns)


def test_copies_have_the_fields_of_other_objects_and_keep_once_what_is_shared() -> None:
    @dataclasses.dataclass
    class Row:
        name: str
        many: list[int]
        few: int = 3

    rows = [Row(" long name".strip(), [place]) for place in (1, 2)]
    one, other = copies_of(Plain, rows, ("name",))
    assert [one, other] == [Plain(name="long name", many=[place], few=3) for place in (1, 2)]
    assert {type(one), type(other)} == {Plain}
    assert one.name is other.name is rows[0].name
    assert copies_of(Plain, rows)[1].name is rows[1].name
    with pytest.raises(AttributeError):
        copies_of(Plain, [Usage()])


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_can_be_set_or_deleted(shape: type[Any]) -> None:
    made = shape(name="a")
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"^cannot assign to field 'name'$"):
        made.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"^cannot delete field 'name'$"):
        del made.name
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
        made.colour = "red"
    assert made == shape(name="a")


def test_values_are_compared_and_hashed_by_their_fields() -> None:
    @value
    class Point:
        x: int
        y: int = 0

    assert {Point(x=1), Point(x=1, y=0), Point(x=2)} == {Point(x=1), Point(x=2)}
    assert dataclasses.replace(Point(x=1), y=3) == Point(x=1, y=3)
    assert repr(Point(x=1)).endswith("Point(x=1, y=0)")


def test_its_methods_are_written_when_they_are_called_first() -> None:
    @value
    class Point:
        x: int
        note: str = dataclasses.field(default="", compare=False, repr=False)

    def names() -> list[str]:
        methods: list[Any] = [Point.__init__, Point.__eq__, Point.__hash__]
        return [method.__name__ for method in methods]

    assert names() == ["first"] * 3
    one, other = Point(x=1, note="a"), Point(x=1, note="b")
    named: object = "else"
    assert names() == ["__init__", "first", "first"]
    assert (one == other, one == named, hash(one) == hash(other)) == (True, False, True)
    assert names() == ["__init__", "__eq__", "__hash__"]
    assert repr(one).endswith("Point(x=1)")
    assert Point.__init__.__qualname__ == f"{Point.__qualname__}.__init__"


def test_a_value_is_changed_as_replace_does_it() -> None:
    before = Plain(name="a", many=[1], few=2)
    assert [changed(before), changed(before, few=3), changed(before, name="b", many=[])] == [
        dataclasses.replace(before),
        dataclasses.replace(before, few=3),
        dataclasses.replace(before, name="b", many=[]),
    ]
    assert (before, changed(before).many is before.many) == (Plain(name="a", many=[1], few=2), True)
    after = changed(before, few=3)
    assert type(after) is Plain
    with pytest.raises(dataclasses.FrozenInstanceError):
        after.few = 4  # type: ignore[misc]  # what is tested
    with pytest.raises(TypeError, match="colour"):
        changed(before, colour="red")


def test_a_value_is_copied_and_pickled_like_any_other() -> None:
    usage = Usage(tokens=3)
    for again in (copy.copy(usage), copy.deepcopy(usage), pickle.loads(pickle.dumps(usage))):  # noqa: S301 - our own bytes
        assert (again, again is usage, type(again)) == (usage, False, Usage)
