"""What parsing a large file took is given back; where the C library offers no way, nothing happens."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import TYPE_CHECKING

from metagit_mcp.adapters import graph_files
from metagit_mcp.adapters.freed_memory import LARGE, give_back
from metagit_mcp.adapters.graph_files import GraphFiles
from metagit_mcp.adapters.kept import Kept
from metagit_mcp.adapters.layout import GRAPHS
from metagit_mcp.adapters.patience import Patience

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_c_library_is_asked_to_trim_its_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []
    library = SimpleNamespace(
        malloc_trim=lambda *given: asked.append(given), mallopt=lambda *given: asked.append(given)
    )
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: library)
    give_back()
    # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc's malloc.h; then the end of the heap.
    assert asked == [(-1, LARGE), (-3, LARGE), (0,)]


def test_a_c_library_without_it_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: SimpleNamespace())
    give_back()


def test_only_a_large_file_is_worth_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / GRAPHS
    folder.mkdir(parents=True)
    (folder / "small.json").write_text('{"nodes": []}')
    (folder / "large.json").write_text('{"nodes": []' + " " * 100 + "}")
    given: list[str] = []
    monkeypatch.setattr(graph_files, "_LARGE", 100)
    monkeypatch.setattr(graph_files, "give_back", lambda: given.append("back"))
    GraphFiles(str(tmp_path), Patience()).refresh(None, Kept())
    assert given == ["back"]
