"""Whatever happens to the files, both ways to find changes report it the same."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.adapters.changes import EVERYTHING, Everything
from tests.unit.adapters.watching import FOLDERS, GRAPHS, WAYS, changed, replace, write


def chmod(path: Path) -> None:
    if path.is_file():
        path.chmod(path.stat().st_mode ^ 0o044)


def link(path: Path) -> None:
    if not path.is_symlink() and not path.exists():
        path.symlink_to(f"../../../{path.name}")


def move(path: Path) -> None:
    if path.is_symlink() or path.exists():
        path.replace(path.parent / "moved.json")


IN_FOLDER: dict[str, Callable[[Path], object]] = {
    "write": write,
    "replace": replace,
    "delete": lambda path: path.unlink(missing_ok=True),
    "chmod": chmod,
    "move": move,
    "link": link,
    "target": lambda path: write(path.parents[3] / path.name),
    "hidden": lambda path: write(path.parent / f".{path.name}"),
}


def perform(graphs: Path, operation: str, name: str) -> None:
    """Do one thing to a file; `folder` takes the whole folder away and brings it back the next time."""
    aside = graphs.parent / "aside"
    if operation == "folder":
        (aside if aside.exists() else graphs).rename(graphs if aside.exists() else aside)
    elif graphs.exists():
        IN_FOLDER[operation](graphs / name)


OPERATIONS = st.lists(st.tuples(st.sampled_from([*IN_FOLDER, "folder"]), st.sampled_from(["a.json", "b.json"])))


@given(operations=OPERATIONS)
def test_both_ways_report_the_same_step_by_step(operations: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        graphs = Path(root) / GRAPHS
        graphs.mkdir(parents=True)
        ways = [way(root, FOLDERS) for _, way in sorted(WAYS.items())]
        reports = []
        for operation, name in [("hidden", "a.json"), *operations]:
            perform(graphs, operation, name)
            reports.append([changes.drain() for changes in ways])
        for changes in ways:
            changes.close()
    assert [report[0] for report in reports] == [report[1] for report in reports]


@given(operations=OPERATIONS)
def test_what_differs_in_the_end_is_in_either_report(operations: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        graphs = Path(root) / GRAPHS
        graphs.mkdir(parents=True)
        heard, seen = [way(root, FOLDERS) for _, way in sorted(WAYS.items())]
        assert [heard.drain(), seen.drain()] == [EVERYTHING, EVERYTHING]
        for operation, name in operations:
            perform(graphs, operation, name)
        by_inotify, by_stat = heard.drain(), seen.drain()
        assert [heard.drain(), seen.drain()] == [changed(), changed()]
        heard.close()
    if not isinstance(by_inotify, Everything):
        assert not isinstance(by_stat, Everything)
        assert by_stat.paths <= by_inotify.paths
        touched = {name for _, name in operations} | {"moved.json"}
        assert {name for _, name in by_inotify.paths} <= touched
