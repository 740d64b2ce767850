"""The use cases, one async call for each tool and command. Knows ports, never adapters, and no protocol."""
