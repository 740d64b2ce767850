"""The MCP server: tools and their transport; it must not decide anything the application layer decides."""
