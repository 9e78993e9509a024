"""The perf.data container: bytes of a file in, contents and AUX data out. It knows neither trace formats nor remote storage."""
