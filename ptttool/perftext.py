"""The text that perf prints for the AUX dump of a PTT recording (``perf report -D``), as a perf of June 2026 does."""
