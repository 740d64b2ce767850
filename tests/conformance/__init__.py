"""One suite for every event store: what holds for `memory`, the reference, holds for all of them."""
