"""Samples of tracepoints in a perf.data file: their formats are in the file (HEADER_TRACING_DATA), so they are read without perf."""
