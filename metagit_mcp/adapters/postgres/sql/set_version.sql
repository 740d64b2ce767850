INSERT INTO metagit_mcp.schema_version (version) VALUES (%(version)s);
