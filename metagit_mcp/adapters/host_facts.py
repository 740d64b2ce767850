"""What the machine says of agent hosts: its folders, its kind, the command that starts us. Knows no host's format."""

import contextlib
import os
import pwd
import shutil
import sys
from collections.abc import Mapping
from typing import Final

from metagit_mcp.adapters.layout import MANIFEST, METAGIT
from metagit_mcp.errors import InvalidInput, WorkspaceNotFound
from metagit_mcp.ports.hosts import HostFacts

_PROGRAM: Final = "metagit-mcp"
_TOPS: Final = (".git", METAGIT, MANIFEST)


def host_facts(environ: Mapping[str, str], workspace: str | None) -> HostFacts:
    """Return the facts, as this process sees them.

    Args:
        environ: variables of the process.
        workspace: the workspace that was found, if any.

    Raises:
        WorkspaceNotFound: the current folder is gone.
        InvalidInput: nothing says where this user is at home.
    """
    home = _home(environ)
    return HostFacts(
        project=_project(os.path.realpath(home)),
        home=home,
        config_home=_folder(environ, "XDG_CONFIG_HOME") or f"{home}/.config",
        codex_home=_folder(environ, "CODEX_HOME") or f"{home}/.codex",
        is_mac=sys.platform == "darwin",
        program=_program(environ),
        workspace=workspace,
    )


def _home(environ: Mapping[str, str]) -> str:
    """Return the folder of this user: what HOME names, else what the system knows; `/` or a part of here is none."""
    given = _folder(environ, "HOME")
    if given is not None:
        return given
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(os.getuid()).pw_dir
    raise InvalidInput("Nothing says where this user is at home.", hint="Set HOME to an absolute path.", field="HOME")


def _folder(environ: Mapping[str, str], name: str) -> str | None:
    """Return the folder that a variable names; one that is relative counts as none."""
    path = environ.get(name, "")
    return path if os.path.isabs(path) else None


def _project(home: str) -> str:
    """Return the nearest folder upward that is a repository or a workspace, else the current one."""
    try:
        here = os.getcwd()
    except OSError:
        raise WorkspaceNotFound("The current folder is gone.", hint="Go to the folder of your project first.") from None
    folder = here
    while folder not in {home, os.path.dirname(folder)}:
        if any(os.path.lexists(f"{folder}/{name}") for name in _TOPS):
            return folder
        folder = os.path.dirname(folder)
    return here


def _program(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what starts this program: its name if a shell finds it, else its script, else the interpreter."""
    if shutil.which(_PROGRAM, path=environ.get("PATH", os.defpath)):
        return (_PROGRAM,)
    script = f"{os.path.dirname(os.path.abspath(sys.executable))}/{_PROGRAM}"
    return (script,) if os.access(script, os.X_OK) else (os.path.abspath(sys.executable), "-m", "metagit_mcp")
