WITH own AS MATERIALIZED (SELECT number FROM metagit_mcp.inbox_group WHERE stream = %(stream)s AND group_id = %(group_id)s)
SELECT sequence, event_key, digest FROM metagit_mcp.inbox_entry
WHERE group_number = (SELECT number FROM own) AND sequence = ANY(%(sequences)b::bigint[])
UNION
SELECT sequence, event_key, digest FROM metagit_mcp.inbox_entry
WHERE group_number = (SELECT number FROM own) AND event_key = ANY(%(keys)b::bytea[])
ORDER BY sequence;
