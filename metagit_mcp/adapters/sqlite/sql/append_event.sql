INSERT INTO event (position, kind, version, body) VALUES (?, ?, ?, ?);
