DELETE FROM inbox_held
WHERE group_number = (SELECT number FROM inbox_group WHERE group_id = :group_id)
  AND sequence <= :up_to;
