"""The measurements of docs/reference/performance.md: `python -m tests.bench`. They print ratios and assert nothing."""

NOOP = "noop"
