"""Loops over records, compiled where there was a C compiler at install: arrays in, arrays out, nothing else of ptttool."""

from __future__ import annotations

from importlib.util import find_spec


def is_compiled() -> bool:
    """Return whether the loops are compiled; else the same is found more slowly."""
    found = find_spec("ptttool.kernel.loops")
    return found is not None and found.origin is not None and not found.origin.endswith(".py")
