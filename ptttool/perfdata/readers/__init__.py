"""Readers of perf.data: files that are read at any offset, and pipes. Both give contents and chunks of AUX data."""
