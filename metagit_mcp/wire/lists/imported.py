"""What is remembered of an imported list, as JSON, and the files of a list as they were read. Knows no merge."""

from collections.abc import Mapping
from typing import Any, Final

from metagit_mcp.domain.value import value
from metagit_mcp.wire.lists.listed import ListFile

Json = dict[str, Any]
_HEAD: Final = ("system", "source", "tag")


@value
class Imported:
    """What was imported from a list into one graph: whose list, where it is, and per node what it said.

    `records` is by node id: `at` and `as_of`, how new it and its list were, and `said`, its fields. A field that is
    missing in `said` was never the list's.
    """

    system: str
    source: str
    tag: str
    records: Mapping[str, Json]


@value
class ListSource:
    """A list as it was read: its files, the name of its project's folder, and where it is (from the workspace)."""

    files: tuple[ListFile, ...]
    folder: str
    at: str


def imported_record(imported: Imported) -> Json:
    """Return the object that a file holds."""
    return {**{name: getattr(imported, name) for name in _HEAD}, "records": dict(imported.records)}


def read_imported(record: Json) -> Imported:
    """Return what an object says.

    Raises:
        ValueError: it is no such object.
    """
    records = record.get("records")
    if not all(isinstance(record.get(name), str) for name in _HEAD) or not isinstance(records, dict):
        raise ValueError("it must say system, source, tag and records")
    for each in records.values():
        if not isinstance(each, dict) or not isinstance(each.get("said"), dict):
            raise ValueError("each record must say what it said")  # noqa: TRY004 - as any other content that is wrong
    return Imported(**{name: record[name] for name in _HEAD}, records=records)
