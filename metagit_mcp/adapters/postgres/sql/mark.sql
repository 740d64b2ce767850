-- One row in any case: the schema's version and the time, and the ledger if it is there.
SELECT schema_version.version, extract(epoch FROM clock_timestamp())::float8,
       found.stream, found.workspace_id,
       (SELECT max(position) FROM metagit_mcp.event WHERE event.stream = found.stream),
       (SELECT min(position) FROM metagit_mcp.event WHERE event.stream = found.stream)
FROM metagit_mcp.schema_version LEFT JOIN LATERAL (
    SELECT stream, workspace_id FROM metagit_mcp.ledger
    WHERE workspace_id = %(named)s OR name = %(named)s
    ORDER BY workspace_id = %(named)s DESC
    LIMIT 1
) AS found ON true;
