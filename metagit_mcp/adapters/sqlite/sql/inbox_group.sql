SELECT number FROM inbox_group WHERE group_id = :group_id;
