"""The bytes of a ledger with no event in it; it touches no file."""

import sqlite3
from contextlib import closing
from typing import Final

from metagit_mcp.adapters.sqlite.statements import statement

# The text at place n brings a ledger of schema version n to n + 1: never change one, add another.
SCHEMA: Final = ("schema", "schema_inbox")
SCHEMA_VERSION: Final = len(SCHEMA)
WITH_INBOX: Final = 2
# "mgLg", so that `file` and other programs can tell a ledger from any other database.
APPLICATION_ID: Final = 0x6D674C67
# Two bytes of the header say that there is a write-ahead log (https://www.sqlite.org/fileformat.html, section 1.3).
_LOG_VERSIONS: Final = slice(18, 20)
_WITH_LOG: Final = b"\x02\x02"


def empty_ledger(workspace_id: str) -> bytes:
    """Return a whole ledger file, which knows its workspace and is in WAL mode from its first moment."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for name in SCHEMA:
            connection.executescript(statement(name))
        connection.execute(statement("name_ledger"), (workspace_id,))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        image = bytearray(connection.serialize())
    image[_LOG_VERSIONS] = _WITH_LOG
    return bytes(image)
