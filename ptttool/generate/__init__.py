"""Recordings made by calculation: the traffic of a simulated link, as the device and perf would have recorded it."""
