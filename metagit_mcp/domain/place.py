"""Where a workspace is, and why it was chosen; it knows neither files nor how one is found."""

from metagit_mcp.domain.value import value


@value
class WorkspacePlace:
    """Which workspace this is, and why it was chosen."""

    path: str
    chosen_by: str
