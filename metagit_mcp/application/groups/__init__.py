"""Groups that are fed by Events: what comes in, and how they stand."""
