"""A PTT device as several processes share it: its lock, who traces it, what its driver says."""
