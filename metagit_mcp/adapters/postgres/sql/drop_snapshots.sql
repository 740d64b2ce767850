DELETE FROM metagit_mcp.snapshot
WHERE stream = %(stream)s
  AND position < (SELECT max(position) FROM metagit_mcp.snapshot WHERE stream = %(stream)s);
