"""Tune profiles: files with the tune attributes of a machine, and how they are compared with it and applied."""
