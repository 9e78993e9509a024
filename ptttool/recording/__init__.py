"""Recordings: perf.data and raw dumps, from files, folders, pipes and remote storage, and what they say of themselves."""
