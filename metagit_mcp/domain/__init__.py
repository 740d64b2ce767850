"""Pure nouns and rules: what tasks, policy and decisions are. Knows no file, clock, protocol or framework."""
