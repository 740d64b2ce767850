INSERT INTO metagit_mcp.inbox_group (stream, group_id) VALUES (%(stream)s, %(group_id)s) ON CONFLICT DO NOTHING;
