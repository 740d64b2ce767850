"""The decorator that makes a core value: frozen, slotted, keyword-only. Knows no field and no rule."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, fields
from typing import Any, Final, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def value(cls: type[T]) -> type[T]:
    """Make `cls` a frozen, slotted, keyword-only dataclass, compared by its fields.

    One that is derived from nothing is filled in a third of the time that `frozen=True` takes, which goes around
    `__setattr__` for each field: a claim makes some seventy values. Its methods are written when the first one is
    called: a run uses a few of the hundreds of classes that it loads, and to write them all was half of a start.
    """
    if cls.__bases__ != (object,):
        return dataclass(frozen=True, slots=True, kw_only=True)(cls)
    made: Any = dataclass(slots=True, kw_only=True, init=False, repr=False, eq=False)(cls)
    for name, write in _METHODS.items():
        setattr(made, name, _later(made, name, write))
    made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
    made.__setstate__, made.__repr__ = _fill_copy, _repr
    frozen: type[T] = made
    return frozen


def _later(made: type[Any], name: str, write: "Callable[[type[Any]], Callable[..., Any]]") -> Callable[..., Any]:
    """Return a method that puts the written one into its place when it is called first."""

    def first(self: object, *given: object, **named: object) -> Any:  # noqa: ANN401 - whatever the method returns
        method = write(made)
        method.__name__, method.__qualname__ = name, f"{made.__qualname__}.{name}"
        setattr(made, name, method)
        return method(self, *given, **named)

    return first


def _filling(made: type[Any]) -> Callable[..., None]:
    """Return the `__init__` that fills a value while it is still of a class of the same slots that is not frozen."""
    known = _known_to_fillers(made)
    each = [_filled(field, known) for field in fields(made)]
    asked = "".join(f", {parameter}" for parameter, _ in each)
    body = ["_become(self, _draft)", *(statement for _, statement in each), "_become(self, _made)"]
    text = f"def __init__(self{', *' if each else ''}{asked}):\n " + "\n ".join(body)
    exec(text, known)  # noqa: S102 - the names of fields only, as `dataclass` does it
    init: Callable[..., None] = known["__init__"]
    return init


def _known_to_fillers(made: type[Any]) -> dict[str, Any]:
    """Return what a written function knows that fills values of this class."""
    return {
        "_become": object.__dict__["__class__"].__set__,
        "_draft": type(made.__name__, (), {"__slots__": made.__slots__}),
        "_made": made,
        "_new": object.__new__,
        "_MISSING": MISSING,
    }


def _filled(field: "Field[Any]", known: dict[str, Any]) -> tuple[str, str]:
    """Return a field's parameter and the statement that fills it; what these refer to becomes known."""
    name = field.name
    if field.default_factory is not MISSING:
        known[f"_new_{name}"] = field.default_factory
        return f"{name}=_MISSING", f"self.{name} = _new_{name}() if {name} is _MISSING else {name}"
    if field.default is MISSING:
        return name, f"self.{name} = {name}"
    known[f"_default_{name}"] = field.default
    return f"{name}=_default_{name}", f"self.{name} = {name}"


def _comparing(made: type[Any]) -> Callable[..., Any]:
    """Return the `__eq__` of a value: of the same class, with the same fields."""
    mine, others = _listed(made, "self"), _listed(made, "other")
    body = f"return ({mine}) == ({others}) if other.__class__ is self.__class__ else NotImplemented"
    return _written(f"def method(self, other):\n {body}")


def _hashing(made: type[Any]) -> Callable[..., Any]:
    """Return the `__hash__` of a value, made of those of its fields."""
    return _written(f"def method(self):\n return hash(({_listed(made, 'self')}))")


def _listed(made: type[Any], of: str) -> str:
    return "".join(f"{of}.{field.name}, " for field in fields(made) if field.compare)


def _written(text: str) -> Callable[..., Any]:
    known: dict[str, Any] = {}
    exec(text, known)  # noqa: S102 - the names of fields only, as above
    method: Callable[..., Any] = known["method"]
    return method


def _repr(self: object) -> str:
    told = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)  # type: ignore[arg-type]  # a value is a dataclass
    return f"{type(self).__qualname__}({', '.join(told)})"


_METHODS: Final = {"__init__": _filling, "__eq__": _comparing, "__hash__": _hashing}
_CHANGING: Final[dict[type[Any], Callable[..., Any]]] = {}


def changed(item: T, **given: object) -> T:
    """Return a value that is derived from nothing, with some fields replaced: a quarter of what `replace` takes."""
    change = _CHANGING.get(type(item))
    if change is None:
        change = _CHANGING[type(item)] = _changing(type(item))
    copy: T = change(item, **given)
    return copy


def _changing(made: type[Any]) -> Callable[..., Any]:
    """Return what makes a changed copy, while that is still of a class that is not frozen, as in `_filling`."""
    known = _known_to_fillers(made)
    names = [field.name for field in fields(made)]
    asked = "".join(f", {name}=_MISSING" for name in names)
    body = ["copy = _new(_draft)", *(f"copy.{name} = self.{name} if {name} is _MISSING else {name}" for name in names)]
    text = f"def change(self, *{asked}):\n " + "\n ".join([*body, "_become(copy, _made)", "return copy"])
    exec(text, known)  # noqa: S102 - the names of fields only, as above
    change: Callable[..., Any] = known["change"]
    return change


_MAKING_ROWS: Final[dict[tuple[type[Any], tuple[str, ...]], Callable[..., Any]]] = {}


def rows_of(made: type[T], rows: int, columns: Mapping[str, Iterable[object]]) -> list[T]:
    """Return values of a class that is derived from nothing, from the columns of some of its fields.

    What has no column has its default in all of them. It takes half of what as many calls of the class take.

    Raises:
        ValueError: a column has another length than `rows`.
        TypeError: a field has neither a column nor a default, or a column is that of no field.
    """
    names = tuple(columns)
    make = _MAKING_ROWS.get((made, names))
    if make is None:
        make = _MAKING_ROWS[made, names] = _making_rows(made, names)
    found: list[T] = make(zip(range(rows), *columns.values(), strict=True))
    return found


def _making_rows(made: type[Any], names: tuple[str, ...]) -> Callable[..., Any]:
    """Return what makes values of rows: the number of each, which says nothing, and what these fields are in it."""
    known = _known_to_fillers(made)
    given = {name: f"given_{name}" for name in names}
    filled = {field.name: given.pop(field.name, "") or _left_out(field, known) for field in fields(made)}
    if given:
        raise TypeError(f"{made.__name__} has no field {min(given)}")
    row = "".join(f", given_{name}" for name in names)
    head = ["def make(rows):", " made = []", " add = made.append", f" for _{row or ','} in rows:"]
    body = ["copy = _new(_draft)", *(f"copy.{name} = {each}" for name, each in filled.items()), "_become(copy, _made)"]
    text = "\n".join([*head, *(f"  {line}" for line in (*body, "add(copy)")), " return made"])
    exec(text, known)  # noqa: S102 - the names of fields only, as above
    make: Callable[..., Any] = known["make"]
    return make


_COPYING: Final[dict[tuple[type[Any], tuple[str, ...]], Callable[..., Any]]] = {}


def copies_of(made: type[T], items: Iterable[object], shared: tuple[str, ...] = ()) -> list[T]:
    """Return values of a class that is derived from nothing, with the fields of other objects, which have them all.

    Of equal ones in the fields that are `shared` the first stands in all of these values.
    """
    copy_all = _COPYING.get((made, shared))
    if copy_all is None:
        copy_all = _COPYING[made, shared] = _copying(made, shared)
    copies: list[T] = copy_all(items)
    return copies


def _copying(made: type[Any], shared: tuple[str, ...]) -> Callable[..., Any]:
    known = _known_to_fillers(made)
    names = [field.name for field in fields(made)]
    taken = {name: f"share(item.{name}, item.{name})" if name in shared else f"item.{name}" for name in names}
    head = ["def copy_all(items):", " made = []", " add, share = made.append, {}.setdefault", " for item in items:"]
    body = ["copy = _new(_draft)", *(f"copy.{name} = {each}" for name, each in taken.items()), "_become(copy, _made)"]
    text = "\n".join([*head, *(f"  {line}" for line in (*body, "add(copy)")), " return made"])
    exec(text, known)  # noqa: S102 - the names of fields only, as above
    copy_all: Callable[..., Any] = known["copy_all"]
    return copy_all


def _left_out(field: "Field[Any]", known: dict[str, Any]) -> str:
    """Return the expression for the default of a field; what it refers to becomes known."""
    if field.default is not MISSING:
        known[f"_default_{field.name}"] = field.default
        return f"_default_{field.name}"
    if field.default_factory is MISSING:
        raise TypeError(f"the field {field.name} has no default")
    known[f"_new_{field.name}"] = field.default_factory
    return f"_new_{field.name}()"


def _refuse_to_set(_: object, name: str, __: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _fill_copy(self: object, state: tuple[None, dict[str, object]]) -> None:
    """Fill what `copy` or `pickle` made."""
    for name, each in state[1].items():
        object.__setattr__(self, name, each)
