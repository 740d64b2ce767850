"""Finds which files of the workspace changed since the last look: `open_changes` chooses how.

It knows neither what the files mean nor how they are read.
"""

from metagit_mcp.adapters.changes.choice import open_changes
from metagit_mcp.adapters.changes.report import EVERYTHING, NOTHING, ChangedPaths, Changes, Everything

__all__ = ["EVERYTHING", "NOTHING", "ChangedPaths", "Changes", "Everything", "open_changes"]
