"""The interface over HTTP: MCP at /mcp, the board and its JSON beside it, behind identities."""
