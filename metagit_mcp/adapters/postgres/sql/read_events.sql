SELECT position, kind, version, body FROM metagit_mcp.event
WHERE stream = %(stream)s AND position > %(after)s
ORDER BY position
LIMIT %(limit)s;
