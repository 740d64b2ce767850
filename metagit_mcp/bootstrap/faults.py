"""Arms the fault point that a test names, so that the process ends there. Knows no write."""

from functools import partial

from metagit_mcp.adapters.fault_points import FAULT_POINTS, arm_fault, die_at
from metagit_mcp.errors import InvalidInput


def arm(fault: str | None) -> None:
    """Have this process end at a fault point, if one is named.

    Raises:
        InvalidInput: there is no such point.
    """
    if fault is None:
        return
    if fault not in FAULT_POINTS:
        raise InvalidInput(f"METAGIT_MCP_FAULT must be one of {', '.join(FAULT_POINTS)}", field="METAGIT_MCP_FAULT")
    arm_fault(fault, partial(die_at, fault))
