SELECT sequence, event_key, digest FROM inbox_entry
WHERE group_number = (SELECT number FROM inbox_group WHERE group_id = :group_id)
  AND sequence IN (SELECT value FROM json_each(:sequences));
