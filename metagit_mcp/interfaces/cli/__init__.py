"""The command line `metagit-mcp`: the twin of the MCP tools for people and scripts, over the same use cases."""
