-- The ledgers of any number of workspaces, schema version 1. Another shape is another version, with a text of its own:
-- `SCHEMA` in making.py.

CREATE SCHEMA IF NOT EXISTS metagit_mcp;

CREATE TABLE metagit_mcp.schema_version (
    version integer NOT NULL
);

-- `name` is what hosts look for: the id of a ledger that was lost, whose place this one took, or what people chose.
CREATE TABLE metagit_mcp.ledger (
    stream integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id text NOT NULL UNIQUE,
    name text NOT NULL UNIQUE
);

CREATE TABLE metagit_mcp.event (
    stream integer NOT NULL REFERENCES metagit_mcp.ledger ON DELETE CASCADE,
    position bigint NOT NULL CHECK (position > 0),
    kind text NOT NULL,
    version integer NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (stream, position)
);

CREATE TABLE metagit_mcp.snapshot (
    stream integer NOT NULL REFERENCES metagit_mcp.ledger ON DELETE CASCADE,
    position bigint NOT NULL CHECK (position > 0),
    version integer NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (stream, position)
);

-- A number in the keys of the entries: with the id itself there they take twice the room.
CREATE TABLE metagit_mcp.inbox_group (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stream integer NOT NULL REFERENCES metagit_mcp.ledger ON DELETE CASCADE,
    group_id text NOT NULL,
    UNIQUE (stream, group_id)
);

CREATE TABLE metagit_mcp.inbox_entry (
    group_number integer NOT NULL REFERENCES metagit_mcp.inbox_group ON DELETE CASCADE,
    sequence bigint NOT NULL CHECK (sequence > 0),
    event_key bytea NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (group_number, sequence),
    UNIQUE (group_number, event_key)
);

-- Apart from the entries, which stay: these come and go, and are long.
CREATE TABLE metagit_mcp.inbox_held (
    group_number integer NOT NULL REFERENCES metagit_mcp.inbox_group ON DELETE CASCADE,
    sequence bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (group_number, sequence)
);
