"""Analyses of several recordings: each by itself, summed up, and compared."""
