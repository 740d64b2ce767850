"""The commands for the first five minutes: `init` makes a workspace, `demo` shows one at work.

Knows no more of a workspace than the folder that makes one; everything in it is written by use cases.
"""

import errno
from importlib import import_module
from pathlib import Path
from typing import Final

import click

from metagit_mcp.errors import InvalidInput, MetagitError, ReadOnlyWorkspace, StoreUnavailable
from metagit_mcp.interfaces.cli.flags import example, shared_flags
from metagit_mcp.interfaces.cli.invocation import Invocation

# The mark by which a workspace is found (interfaces.md §1).
_MARK: Final = Path(".metagit", "tasks", "graphs")
_NO_FOLDER: Final = frozenset({errno.EEXIST, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOENT})
_READ_ONLY: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


@click.command(epilog=example("metagit-mcp init", "metagit-mcp init ~/projects/shop"))
@click.argument("path", required=False)
@shared_flags
@click.pass_obj
def init(invocation: Invocation, path: str | None) -> None:
    """Make PATH (default: this folder) a workspace. Nothing that is there is changed."""
    root = _root(invocation.workspace if path is None else path)
    created = _made(root)
    record = {"workspace": str(root), "created": created, "next_step": _NEXT_STEP}
    done = "is a workspace now" if created else "was a workspace already"
    invocation.show_record(record, [f"{root} {done}", f"next step: {_NEXT_STEP}"])


_NEXT_STEP: Final = "Write work down: metagit-mcp task plan --title TITLE --outline FILE"


def _root(path: str | None) -> Path:
    """Return the folder.

    Raises:
        InvalidInput: it is no path, or one where a workspace would never be found.
    """
    if path == "" or "\0" in (path or ""):
        raise InvalidInput("PATH is empty or no path", hint="Leave it out to mean this folder.", field="path")
    root = Path(path or ".").resolve()
    if root in (Path("/"), _home()):
        raise InvalidInput("PATH is the root folder or the home folder", hint="Name a folder below.", field="path")
    return root


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except RuntimeError:
        return None


def _made(root: Path) -> bool:
    """Make the folder that marks a workspace and say whether it was missing."""
    try:
        if (root / _MARK).is_dir():
            return False
        (root / _MARK).mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise _refusal(root, cause) from None
    return True


def _refusal(root: Path, cause: OSError) -> MetagitError:
    message = f"{root} cannot become a workspace: {cause.strerror}."
    if cause.errno in _READ_ONLY:
        return ReadOnlyWorkspace(message, hint="This user must be able to write there.")
    if cause.errno in _NO_FOLDER:
        return InvalidInput(message, hint="Name a folder.", field="path")
    return StoreUnavailable(message, hint="Try again.")


@click.command(short_help="Show an example workspace at work.", epilog=example("metagit-mcp demo"))
def demo() -> int:
    """Schedule an example workspace over MCP and print what an agent sees; ends with 1 if a fact differs."""
    # By name: the example drives the server as a client, and no other command should ever load that.
    ended: int = import_module("metagit_mcp.interfaces.demo").main()
    return ended
