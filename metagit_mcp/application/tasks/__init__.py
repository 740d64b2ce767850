"""Writing work down and changing it."""
