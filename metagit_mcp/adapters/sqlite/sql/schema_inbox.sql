-- The inboxes of the Groups, schema version 2: what makes it of version 1. No semicolon but at the end of a statement.

-- A number in the keys of the entries: with the id itself there they take twice the room.
CREATE TABLE inbox_group (
    number INTEGER PRIMARY KEY,
    group_id TEXT NOT NULL UNIQUE
);

CREATE TABLE inbox_entry (
    group_number INTEGER NOT NULL,
    sequence INTEGER NOT NULL CHECK (sequence > 0),
    event_key BLOB NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (group_number, sequence)
) WITHOUT ROWID;

CREATE UNIQUE INDEX inbox_entry_by_key ON inbox_entry (group_number, event_key);

-- Apart from the entries, which stay: these come and go, and are long.
CREATE TABLE inbox_held (
    group_number INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (group_number, sequence)
);
