"""The perf.data container: bytes of a file in, records out. Knows no trace protocol."""
