INSERT INTO metagit_mcp.inbox_entry (group_number, sequence, event_key, digest)
SELECT (SELECT number FROM metagit_mcp.inbox_group WHERE stream = %(stream)s AND group_id = %(group_id)s), *
FROM unnest(%(sequences)b::bigint[], %(keys)b::bytea[], %(digests)b::bytea[]);
