INSERT INTO inbox_entry (group_number, sequence, event_key, digest) VALUES (?, ?, ?, ?);
