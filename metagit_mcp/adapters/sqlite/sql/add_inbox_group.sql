INSERT INTO inbox_group (group_id) VALUES (:group_id) RETURNING number;
