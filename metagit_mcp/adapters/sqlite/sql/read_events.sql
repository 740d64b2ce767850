SELECT position, kind, version, body FROM event WHERE position > ? ORDER BY position LIMIT ?;
