"""What goes over HTTP without MCP: requests, status codes, and the OpenAPI document about them."""
