"""Tune attributes of PTT devices: read them, set them all or none, keep them in profiles, recover changes that were cut off."""
