-- Nothing where it is of another ledger, a newer one is kept, or the ledger does not go as far.
INSERT INTO metagit_mcp.snapshot (stream, position, version, body)
SELECT stream, %(position)s, %(version)s, %(body)b FROM metagit_mcp.ledger
WHERE stream = %(stream)s AND workspace_id = %(workspace_id)s
  AND NOT EXISTS (SELECT 1 FROM metagit_mcp.snapshot AS newer WHERE newer.stream = ledger.stream AND newer.position > %(position)s)
  AND %(position)s <= (SELECT max(position) FROM metagit_mcp.event WHERE event.stream = ledger.stream)
ON CONFLICT (stream, position) DO UPDATE SET version = excluded.version, body = excluded.body;
