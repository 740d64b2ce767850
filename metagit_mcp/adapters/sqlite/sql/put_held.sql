INSERT INTO inbox_held (group_number, sequence, body) VALUES (?, ?, ?);
