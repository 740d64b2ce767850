"""A policy tried in virtual time: workloads, what happened in a run, and its measures. Knows no file and no clock."""
