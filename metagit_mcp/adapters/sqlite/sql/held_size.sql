SELECT count(*), coalesce(sum(length(body)), 0), coalesce(min(sequence), 0) FROM inbox_held
WHERE group_number = (SELECT number FROM inbox_group WHERE group_id = :group_id);
