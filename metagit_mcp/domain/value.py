"""The decorator that makes a core value: frozen, slotted, keyword-only. Knows no field and no rule."""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def value(cls: type[T]) -> type[T]:
    """Make `cls` a frozen, slotted, keyword-only dataclass, compared by its fields."""
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)
