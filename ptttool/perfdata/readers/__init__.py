"""Readers of perf.data: mapped files, pipes, and files that are read at any offset. All give contents and chunks of AUX data."""
