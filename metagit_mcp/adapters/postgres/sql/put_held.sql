INSERT INTO metagit_mcp.inbox_held (group_number, sequence, body)
SELECT (SELECT number FROM metagit_mcp.inbox_group WHERE stream = %(stream)s AND group_id = %(group_id)s), *
FROM unnest(%(sequences)b::bigint[], %(bodies)b::bytea[]);
