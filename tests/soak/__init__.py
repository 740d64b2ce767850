"""A fleet over HTTP for minutes, killed at random, against an oracle that shares no code with the package."""
