"""Recording: from a request to an event, checks, perf, and the file with its sidecar; replay of bundled recordings."""
