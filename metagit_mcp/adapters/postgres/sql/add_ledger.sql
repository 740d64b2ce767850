INSERT INTO metagit_mcp.ledger (workspace_id, name) VALUES (%(workspace_id)s, %(name)s) ON CONFLICT DO NOTHING;
