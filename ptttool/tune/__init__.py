"""Tune attributes of PTT devices: read and set them, all or none; profiles, also permanent ones; a journal, undo and recovery."""
