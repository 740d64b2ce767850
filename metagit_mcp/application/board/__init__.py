"""What the board shows: one answer, put together of parts."""
