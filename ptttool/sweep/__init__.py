"""Sweeps: a workload runs with every value of some tune attributes, and statistics say which of them made a difference."""
