"""What is served over HTTP, as a stranger and an attacker find it."""
