LISTEN metagit_mcp;
