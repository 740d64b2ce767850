"""Lists of other programs, as graphs."""
