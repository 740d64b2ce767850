DELETE FROM metagit_mcp.schema_version;
