"""Processes that decode: of this machine, or of a cluster."""
