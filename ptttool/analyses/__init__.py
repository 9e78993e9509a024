"""Analyses: what is computed from a whole recording."""
