INSERT INTO metagit_mcp.event (stream, position, kind, version, body)
SELECT %(stream)s, * FROM unnest(%(positions)b::bigint[], %(kinds)b::text[], %(versions)b::bigint[], %(bodies)b::bytea[]);
