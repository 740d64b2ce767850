SELECT pg_notify('metagit_mcp', %(stream)s::text);
