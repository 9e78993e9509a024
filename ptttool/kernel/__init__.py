"""Loops over records, compiled where there was a C compiler at install: arrays in, arrays out, nothing else of ptttool."""

from __future__ import annotations

from importlib.util import find_spec

LOOPS = ("accesses", "commands", "events", "kinds", "lines", "loops", "records")
"""The modules that are compiled: each has its C types beside it."""


def is_compiled() -> bool:
    """Return whether all loops are compiled; else the same is found more slowly."""
    specs = [find_spec(f"{__name__}.{name}") for name in LOOPS]
    return all(spec is not None and spec.origin is not None and not spec.origin.endswith(".py") for spec in specs)
