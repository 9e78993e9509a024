"""Exporters: one file for each output format."""
