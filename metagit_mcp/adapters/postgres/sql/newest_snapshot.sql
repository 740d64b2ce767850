SELECT workspace_id, position, version, body
FROM metagit_mcp.snapshot JOIN metagit_mcp.ledger USING (stream)
WHERE stream = %(stream)s
ORDER BY position DESC
LIMIT 1;
