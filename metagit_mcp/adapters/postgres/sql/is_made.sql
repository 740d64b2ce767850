SELECT to_regclass('metagit_mcp.schema_version') IS NOT NULL;
