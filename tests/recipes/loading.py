"""Loads the program of a page into a driver, which runs in a framework's own Python. Must not know any program."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def loaded(path: str) -> ModuleType:
    """The program at `path`, as a module: it defines everything and does nothing yet."""
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
