"""Checks of the perf tool."""
