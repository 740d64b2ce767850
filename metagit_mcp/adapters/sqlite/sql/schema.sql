-- The ledger, schema version 1. Another shape is another version, with a text of its own: `SCHEMA` in image.py.

CREATE TABLE ledger (
    workspace_id TEXT NOT NULL
);

-- An INTEGER PRIMARY KEY is the key of the table itself: reading on from a position is one descent and a scan.
CREATE TABLE event (
    position INTEGER PRIMARY KEY CHECK (position > 0),
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL
);

CREATE TABLE snapshot (
    workspace_id TEXT NOT NULL,
    position INTEGER PRIMARY KEY CHECK (position > 0),
    version INTEGER NOT NULL,
    body BLOB NOT NULL
);
