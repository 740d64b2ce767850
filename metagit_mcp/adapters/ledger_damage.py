"""Says what is missing from a ledger, whichever store it lies in; it knows no store."""

from collections.abc import Iterable


def missing_of(gaps: Iterable[tuple[int, int]], lost_entries: int) -> list[str]:
    """Return what is missing: the events of each gap (the first and the last of it), and entries of held Events."""
    missing = [
        f"event {first} is missing" if first == last else f"the events {first} to {last} are missing"
        for first, last in gaps
    ]
    if lost_entries:
        missing.append(f"the entries of {lost_entries} held Group Events are missing")
    return missing
