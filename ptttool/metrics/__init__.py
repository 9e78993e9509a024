"""Numbers of machines and recordings for Prometheus, in its text format."""
