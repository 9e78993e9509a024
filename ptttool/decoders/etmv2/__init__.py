"""Arm ETMv2 trace packets."""
