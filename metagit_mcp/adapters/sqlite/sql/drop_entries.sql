DELETE FROM inbox_entry
WHERE group_number = (SELECT number FROM inbox_group WHERE group_id = :group_id)
  AND sequence < :before;
