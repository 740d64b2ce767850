"""Puts together what sets agent hosts up. It needs no workspace, and opens none."""

import os
from typing import TYPE_CHECKING

from metagit_mcp.adapters.host_facts import host_facts
from metagit_mcp.adapters.host_files import HostFileStore
from metagit_mcp.application.hosts.setup import HostSetup
from metagit_mcp.bootstrap import place_of
from metagit_mcp.bootstrap.faults import arm
from metagit_mcp.errors import WorkspaceNotFound

if TYPE_CHECKING:
    from metagit_mcp.settings import Settings


def open_hosts(settings: "Settings", *, named: bool) -> tuple[HostSetup, str | None]:
    """Return what sets agent hosts up, and the workspace if a flag `named` it.

    Raises:
        WorkspaceNotFound: the one that was named is none.
        InvalidInput: the fault point to stop at does not exist.
    """
    arm(settings.fault)
    try:
        found = place_of(settings).path
    except WorkspaceNotFound:
        if named:
            raise
        found = None
    return HostSetup(host_facts(os.environ, found), HostFileStore()), found if named else None
