"""Runs work on recordings: from the source through the decoder and the filter to a result."""
