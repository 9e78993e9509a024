"""The perf tool: its command, its process, its errors."""
