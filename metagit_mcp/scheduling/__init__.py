"""Pure policy: from a frozen snapshot to an ordered, explained plan. Knows no file, clock, protocol or framework."""
