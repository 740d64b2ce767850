"""Finds the workspace, or makes one; it reads no task and no policy, and runs no git.

The order is that of interfaces.md §1. A folder is never taken because it is merely there: `/` and the home
folder itself are no workspaces.
"""

import os
import re
from collections.abc import Iterator
from typing import Final

from metagit_mcp.adapters.files import TEMP_PREFIX, TEMP_SUFFIX, create_whole, make_folder, read_regular
from metagit_mcp.adapters.layout import GRAPHS, MANIFEST, METAGIT, SCHEDULE, TASKS
from metagit_mcp.adapters.refusals import storage_error
from metagit_mcp.domain.place import WorkspacePlace
from metagit_mcp.domain.text import shown
from metagit_mcp.errors import InvalidInput, MetagitError, WorkspaceNotFound

_HINT: Final = "Pass --workspace PATH or set METAGIT_WORKSPACE, or make a workspace here with: metagit-mcp init"
_PLUGIN_HINT: Final = (
    "A plugin's server does not know the project's folder. Set METAGIT_WORKSPACE=/path/of/the/project in its "
    "environment, or pass --workspace PATH; for Codex, give the project a server of its own, there: "
    "metagit-mcp config codex --write"
)
_UMBRELLA: Final = re.compile(rb"^kind:[ \t]*(['\"]?)umbrella\1[ \t]*(#.*)?\r?$", re.MULTILINE)
_MANIFEST_LIMIT: Final = 1024 * 1024
_LINK_LIMIT: Final = 64 * 1024


def find_workspace(
    path: str | None,
    named_by: str,
    project_dir: str | None,
    *,
    started_from: str = "CLAUDE_PROJECT_DIR",
    plugin_root: str | None = None,
) -> WorkspacePlace:
    """Return the workspace that was named, or else the one that is found upward from a folder.

    Args:
        path: a folder that a flag or variable named; None to search.
        named_by: what named it, such as `--workspace`.
        project_dir: from which to search upward; the current folder if it is none.
        started_from: what named the project's folder.
        plugin_root: the folder of the plugin that started this process. Whoever starts in it knows no project.

    Raises:
        WorkspaceNotFound: with what to pass, and how to make one.
    """
    if path is not None:
        return _named(path, named_by)
    start, started_from = _start(project_dir, started_from)
    folders, above = list(_upward(start)), set(_parents(os.path.realpath(start)))
    for what, is_it in _KINDS.items():
        for folder in folders:
            if is_it(folder) and not _is_forbidden(folder):
                way = "" if folder in above else " by way of the main checkout of its git worktree"
                chosen_by = f"nearest folder with {what}, upward from {started_from}{way}"
                return WorkspacePlace(path=folder, chosen_by=chosen_by)
    raise _not_found(start, plugin_root)


def _not_found(start: str, plugin_root: str | None) -> WorkspaceNotFound:
    real = os.path.realpath(start)
    if plugin_root is None or os.path.realpath(plugin_root) not in _parents(real):
        return WorkspaceNotFound(f"No metagit workspace upward from {shown(start)}.", hint=_HINT, start=start)
    message = f"No metagit workspace upward from {shown(start)}, which is a folder of a plugin and of no project."
    return WorkspaceNotFound(message, hint=_PLUGIN_HINT, start=start)


def _start(project_dir: str | None, named_by: str) -> tuple[str, str]:
    if project_dir is not None and os.path.isdir(project_dir):
        return project_dir, named_by
    try:
        return os.getcwd(), "the current folder"
    except OSError:
        raise WorkspaceNotFound("The current folder is gone.", hint=_HINT) from None


def _named(path: str, named_by: str) -> WorkspacePlace:
    folder = os.path.realpath(os.path.expanduser(path))
    if not _is_workspace(folder):
        hint = "Pass the folder that holds .metagit/, or make one there with: metagit-mcp init PATH"
        raise WorkspaceNotFound(f"{named_by}: {shown(path)} is no metagit workspace.", hint=hint, path=path)
    _refuse_forbidden(folder, named_by)
    return WorkspacePlace(path=folder, chosen_by=named_by)


def _refuse_forbidden(folder: str, named_by: str) -> None:
    if _is_forbidden(folder):
        hint = "Choose a folder of its own: / and the home folder itself are never a workspace."
        raise WorkspaceNotFound(f"{named_by}: {shown(folder)} cannot be a workspace.", hint=hint, path=folder)


def _is_forbidden(folder: str) -> bool:
    return folder in {"/", os.path.realpath(os.path.expanduser("~"))}


def _has_state(folder: str) -> bool:
    return os.path.isdir(f"{folder}/{TASKS}") or os.path.isdir(f"{folder}/{SCHEDULE}")


def _has_metagit(folder: str) -> bool:
    return os.path.isdir(f"{folder}/{METAGIT}")


def _is_umbrella(folder: str) -> bool:
    raw = _small_file(f"{folder}/{MANIFEST}", folder, _MANIFEST_LIMIT)
    return raw is not None and _UMBRELLA.search(raw) is not None


_KINDS: Final = {
    f"{TASKS} or {SCHEDULE}": _has_state,
    METAGIT: _has_metagit,
    f"a {MANIFEST} of kind umbrella": _is_umbrella,
}


def _is_workspace(folder: str) -> bool:
    return any(is_it(folder) for is_it in _KINDS.values())


def _small_file(path: str, root: str, limit: int) -> bytes | None:
    try:
        image = read_regular(path, root=root, limit=limit)
    except MetagitError:
        return None
    return None if image is None else image.raw


# --- upward ----------------------------------------------------------------------------------------------------


def _upward(start: str) -> Iterator[str]:
    """Yield folders from `start` to the root; before a git worktree those of its main checkout, each once.

    All worktrees of a repository share one workspace, also where each of them has a copy of `.metagit`.
    """
    seen: set[str] = set()
    for folder in _parents(os.path.realpath(start)):
        main = _main_checkout(folder)
        for each in (*(_parents(main) if main else ()), folder):
            if each not in seen:
                seen.add(each)
                yield each


def _parents(folder: str) -> Iterator[str]:
    yield folder
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        yield folder


def _main_checkout(folder: str) -> str | None:
    """Return the main checkout of a git worktree, whose `.git` is a file; None for any other folder."""
    line = _small_file(f"{folder}/.git", folder, _LINK_LIMIT)
    if line is None or not line.startswith(b"gitdir:"):
        return None
    git_dir = os.path.join(folder, os.fsdecode(line.removeprefix(b"gitdir:").strip()))
    # A submodule has such a file too, but its git folder names no common one.
    common = _small_file(f"{git_dir}/commondir", git_dir, _LINK_LIMIT)
    if common is None:
        return None
    shared = os.path.realpath(os.path.join(git_dir, os.fsdecode(common.strip())))
    return os.path.dirname(shared) if os.path.basename(shared) == ".git" else None


# --- making one ------------------------------------------------------------------------------------------------

# The rest of .metagit is the state of the work, which may be shared through git.
_IGNORED: Final = f"*.lock\n{TEMP_PREFIX}*{TEMP_SUFFIX}\nschedule/ledger.db*\n".encode()


def init_workspace(path: str, *, nested: bool = False) -> tuple[WorkspacePlace, tuple[str, ...]]:
    """Make a workspace in a folder; return it and what was made, relative to it. What is there stays as it is.

    Args:
        path: the folder; it is made if need be.
        nested: make one also where the folder belongs to a workspace already.

    Raises:
        WorkspaceNotFound: the folder is `/` or the home folder.
        InvalidInput: the folder belongs to a workspace already.
        ReadOnlyWorkspace, StoreUnavailable: it cannot be written.
    """
    root = os.path.realpath(os.path.expanduser(path))
    _refuse_forbidden(root, "init")
    if not nested:
        _refuse_inner(root)
    files = {f"{METAGIT}/.gitignore": _IGNORED, MANIFEST: _manifest(root)}
    folders = (GRAPHS, SCHEDULE)
    missing = tuple(name for name in (*folders, *files) if not os.path.lexists(f"{root}/{name}"))
    _make_root(root)
    for folder in folders:
        make_folder(f"{root}/{folder}", root=root)
    for name, content in files.items():
        create_whole(f"{root}/{name}", content, root=root, mode=0o644)
    return WorkspacePlace(path=root, chosen_by="init"), missing


def _refuse_inner(root: str) -> None:
    """Refuse to split a workspace in two by accident: from the inner folder on, the outer one would not be found."""
    if _is_workspace(root):
        return
    outer = next((folder for folder in _upward(root) if _is_workspace(folder) and not _is_forbidden(folder)), None)
    if outer is not None:
        raise InvalidInput(
            f"This folder belongs to the workspace {shown(outer)} already; nothing was made.",
            hint="Every command finds it from here. To make another workspace inside it: metagit-mcp init --nested",
            field="path",
            workspace=outer,
        )


def _make_root(root: str) -> None:
    try:
        os.makedirs(root, exist_ok=True)
    except OSError as cause:
        raise storage_error(cause, shown(root)) from cause


def _manifest(root: str) -> bytes:
    # A JSON string is a YAML string too, whatever the folder is called.
    name = shown(os.path.basename(root)).replace("\\", "").replace('"', "") or "workspace"
    return f'name: "{name}"\nkind: umbrella\n'.encode("utf-8", "replace")
