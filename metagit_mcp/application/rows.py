"""A node's row in the JSON of a graph file: its id as it is read, and instants as they are written. Knows no file."""

from datetime import datetime


def instant_of(now: datetime) -> str:
    """Return an instant as graph files hold it: ISO 8601 with microseconds and offset."""
    return now.isoformat()


def row_id(row: object) -> str | None:
    """Return the id of a node row as the file is read; None when it has none."""
    node_id = row.get("node_id") if isinstance(row, dict) else None
    return node_id.strip() if isinstance(node_id, str) else None
