"""What people and agents touch: MCP, command line, files; it parses, makes one application call and renders."""
