"""Checks of the system that a recording is made on: disk, memory, journal, plug-ins."""
