"""Who hears of what has changed."""
