"""The distributions of this project, built once from its source as a release is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.interop.peer import TOOLS_VENV, run, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
# Of what begins with a dot, a clone has these; it has no caches and nothing built.
_KEPT = {".ci", ".claude-plugin", ".cursor-plugin", ".editorconfig", ".gitignore"}
_LEFT = {"__pycache__", "build", "dist", "node_modules"}
_BUILD_SECONDS = 300


def files_of(folder: str, root: Path = ROOT) -> Iterator[str]:
    """Each file of a folder of the repository, by its path in it, without what Python compiled."""
    for place, folders, files in os.walk(root / folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (str((Path(place) / name).relative_to(root)) for name in files)


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone holds."""
    folder = tmp_path_factory.mktemp("cloned") / "source"
    shutil.copytree(ROOT, folder, ignore=_not_cloned)
    return folder


@pytest.fixture(scope="session")
def distributions(source: Path) -> Path:
    """A folder with the source distribution, and the wheel that was built from it."""
    built = source.with_name("dist")
    build: list[str | Path] = [tool("pyproject-build"), "--installer", "uv", "--outdir", built, source]
    run(build, cwd=source.parent, seconds=_BUILD_SECONDS, path=[TOOLS_VENV / "bin"])
    return built


@pytest.fixture(scope="session")
def wheel(distributions: Path) -> Path:
    (found,) = distributions.glob("*.whl")
    return found


def _not_cloned(_: str, names: list[str]) -> set[str]:
    return {name for name in names if name in _LEFT or (name.startswith(".") and name not in _KEPT)}
