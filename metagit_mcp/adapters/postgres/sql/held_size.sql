SELECT count(*), coalesce(sum(length(body)), 0)::bigint, coalesce(min(sequence), 0) FROM metagit_mcp.inbox_held
WHERE group_number = (SELECT number FROM metagit_mcp.inbox_group WHERE stream = %(stream)s AND group_id = %(group_id)s);
