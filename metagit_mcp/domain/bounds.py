"""Bounds of numbers and texts as they stand in annotations, for pydantic and Hypothesis to read. Knows no type.

To them each is a group of marks of `annotated_types`. That is loaded when one of them looks: it makes its classes anew
in each process, which takes as long as a third of the domain.
"""

from collections.abc import Iterator
from typing import Any


class Interval:
    """From `ge` to `le`, both included; None is no bound."""

    __slots__ = ("ge", "le")
    __is_annotated_types_grouped_metadata__ = True

    def __init__(self, *, ge: int | None = None, le: int | None = None) -> None:
        """Keep the bounds."""
        self.ge = ge
        self.le = le

    def __iter__(self) -> Iterator[Any]:
        """Yield the bounds as others know them."""
        from annotated_types import Ge, Le  # noqa: PLC0415 - see above

        if self.ge is not None:
            yield Ge(self.ge)
        if self.le is not None:
            yield Le(self.le)


class MinLen:
    """At least so many items or characters."""

    __slots__ = ("min_length",)
    __is_annotated_types_grouped_metadata__ = True

    def __init__(self, min_length: int) -> None:
        """Keep the bound."""
        self.min_length = min_length

    def __iter__(self) -> Iterator[Any]:
        """Yield the bound as others know it."""
        from annotated_types import MinLen as Known  # noqa: PLC0415 - see above

        yield Known(self.min_length)
