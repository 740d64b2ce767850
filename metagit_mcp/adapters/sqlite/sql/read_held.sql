SELECT sequence, event_key, digest, body
FROM inbox_held JOIN inbox_entry USING (group_number, sequence)
WHERE group_number = (SELECT number FROM inbox_group WHERE group_id = :group_id)
  AND sequence > :after
ORDER BY sequence
LIMIT :limit;
