"""Reads the lists of other programs, which may lie anywhere; nothing of them is ever written. It knows no format.

Whatever is named is resolved once; below it links are followed only to places inside it. Only regular files are read,
opened without waiting, and only so much of them.
"""

import os
from collections.abc import Iterator
from typing import Final

from metagit_mcp.adapters.files import READ_LIMIT, read_regular
from metagit_mcp.adapters.refusals import FileRefused, read_error
from metagit_mcp.domain.text import shown
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.lists.backlog import CONFIGS, FOLDERS
from metagit_mcp.wire.lists.imported import ListSource
from metagit_mcp.wire.lists.listed import ListFile

# Where a list lies below what may be named: its own folder, or that of the project.
_BELOW: Final = {
    "beads": ("issues.jsonl", ".beads/issues.jsonl"),
    "taskmaster": ("tasks.json", "tasks/tasks.json", ".taskmaster/tasks/tasks.json"),
}
_BACKLOGS: Final = ("", "backlog", ".backlog")
_OWN_FOLDERS: Final = frozenset({".beads", ".taskmaster", "tasks", "backlog", ".backlog"})
_MOST_PAGES: Final = 100_000
# The end of a path is what tells it from others.
_LONGEST_PATH: Final = 500


def read_list(root: str, system: str, path: str) -> ListSource:
    """Return the files of a list; `root` is the workspace, from which its place is told where it lies in it.

    Raises:
        InvalidInput: there is no such list, or it is too large.
        StoreUnavailable: it cannot be read; FileRefused is one.
    """
    if "\0" in path:
        raise _none(path, "it is no path")
    real = os.path.realpath(os.path.expanduser(path))
    if system == "backlog":
        return _folder_of_pages(root, real, path)
    at = real
    if os.path.isdir(real):
        at = next((found for name in _BELOW[system] if os.path.lexists(found := f"{real}/{name}")), "")
    if not at or not os.path.lexists(at):
        raise _none(path, f"looked for {', '.join(_BELOW[system])}")
    base = real if at != real else os.path.dirname(real)
    file = _file(at, base)
    return ListSource(files=(file,), folder=_project(os.path.dirname(at)), at=_told(at, root))


def _folder_of_pages(root: str, real: str, path: str) -> ListSource:
    tried = [os.path.normpath(f"{real}/{name}") for name in _BACKLOGS]
    base = next((each for each in tried if os.path.isdir(f"{each}/tasks")), None)
    if base is None:
        raise _none(path, "looked for a folder tasks in it, in backlog and in .backlog")
    names = [name for name in CONFIGS if os.path.lexists(f"{base}/{name}")]
    for folder in FOLDERS:
        names += _pages(base, folder)
        if len(names) > _MOST_PAGES:
            raise InvalidInput(f"path: there are more than {_MOST_PAGES} pages", field="path")
    files: list[ListFile] = []
    left = READ_LIMIT
    for name in names:
        files.append(_file(f"{base}/{name}", base, left))
        left -= len(files[-1].raw)
    beside = f"{os.path.dirname(base)}/{CONFIGS[-1]}"
    if not any(name in names for name in CONFIGS) and os.path.isfile(beside):
        files.append(_file(beside, os.path.dirname(base)))
    return ListSource(files=tuple(files), folder=_project(base), at=_told(base, root))


def _pages(base: str, folder: str) -> Iterator[str]:
    """Yield the names of the pages in one folder, in order, below the base."""
    try:
        found = sorted(os.listdir(f"{base}/{folder}"))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as cause:
        raise read_error(cause, shown(folder)) from cause
    for name in found:
        if name.endswith(".md") and not name.startswith("."):
            yield f"{folder}/{name}"


def _file(path: str, base: str, limit: int = READ_LIMIT) -> ListFile:
    try:
        image = read_regular(path, root=base, limit=limit)
    except FileRefused as error:
        # The words are those of a file of the workspace.
        raise type(error)(error.name, error.why.replace("the workspace", "the list")) from None
    if image is None:
        raise _none(path, "it is gone")
    return ListFile(name=os.path.relpath(path, base), raw=image.raw)


def _project(folder: str) -> str:
    """Return the name of the project that a list in a folder belongs to: the nearest folder with a name of its own."""
    while os.path.basename(folder) in _OWN_FOLDERS:
        folder = os.path.dirname(folder)
    return os.path.basename(folder) or "list"


def _told(path: str, root: str) -> str:
    """Return a path from the workspace where it lies in it, so that a clone of both knows it again."""
    real = os.path.realpath(root)
    told = os.path.relpath(path, real) if path.startswith(f"{real}/") else path
    # A name that is no text must not stand in a file of JSON as it is.
    return os.fsencode(told).decode("utf-8", "backslashreplace")


def _none(path: str, what: str) -> InvalidInput:
    return InvalidInput(f"path: there is no such list at '{shown(path, _LONGEST_PATH)}': {what}", field="path")
