"""Checks of the place where a recording is made: disk, memory, journal, plug-ins."""
