"""JSON in and out: what comes in is checked here once, what goes out is shaped here. Knows no file and no protocol."""
