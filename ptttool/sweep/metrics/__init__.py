"""Metrics: what is measured of a workload, from its output or from a trace of it."""
