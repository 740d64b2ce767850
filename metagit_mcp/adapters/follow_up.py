"""Brings other files in step with a change that stands already. Knows no file.

Once the change is written, saying that the call failed would be a lie, and a repeated call would make it twice.
"""

from collections.abc import Callable

from metagit_mcp.errors import MetagitError


def follow_up(write: Callable[[], object]) -> tuple[str, ...]:
    """Do what follows on a change; return a warning if that fails, and nothing else."""
    try:
        write()
    except MetagitError as error:
        return (error.message,)
    return ()
