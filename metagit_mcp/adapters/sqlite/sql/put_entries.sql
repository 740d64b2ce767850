-- Keys and digests come as runs of bytes: 1,000 entries are then one statement. Where it fails the transaction ends in any
-- case; to be able to undo it alone SQLite would copy each page of the index first.
INSERT OR ROLLBACK INTO inbox_entry (group_number, sequence, event_key, digest)
SELECT :group, value, substr(:keys, key * :width + 1, :width), substr(:digests, key * :width + 1, :width)
FROM json_each(:sequences);
