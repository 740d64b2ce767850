"""Writes the published JSON Schemas into a folder, or compares a folder with them. Knows no schema."""

from pathlib import Path

from metagit_mcp.adapters.refusals import storage_error
from metagit_mcp.errors import SchemaMismatch
from metagit_mcp.wire.schemas import OPENAPI, SUFFIX, schema_files


def export_schemas(folder: str) -> list[str]:
    """Write every schema into `folder`, made if need be, and return the file names.

    Raises:
        ReadOnlyWorkspace, StoreUnavailable: the folder cannot be written to.
    """
    target, files = Path(folder), schema_files()
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (target / name).write_text(text, encoding="utf-8")
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    return list(files)


def check_schemas(folder: str) -> list[str]:
    """Compare a folder with the program and return the names of the files, all current.

    Raises:
        SchemaMismatch: names every file that is missing, changed or too many.
        ReadOnlyWorkspace, StoreUnavailable: the folder cannot be read.
    """
    wanted = schema_files()
    try:
        paths = [*Path(folder).glob("*" + SUFFIX), *Path(folder).glob(OPENAPI)]
        found = {path.name: path.read_text(encoding="utf-8", errors="replace") for path in paths}
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    wrong = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
    if wrong:
        raise SchemaMismatch(
            f"These schemas differ from the code: {', '.join(wrong)}.", hint="Run: make schemas", files=wrong
        )
    return sorted(wanted)
