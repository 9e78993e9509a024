"""Budgets of unpacking: a small file can be made to expand to more than any disk has."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

UNPACKED_FREE: Final = 1 << 30
UNPACKED_RATIO: Final = 256
MAX_UNPACKED: Final = 1 << 38
MAX_UNPACKING_MEMORY: Final = 1 << 28
LEFT_ON_DISK: Final = 1 << 28

BUDGETS: Final = (
    Budget("UNPACKED_FREE", UNPACKED_FREE, "bytes", "What a packed recording may expand to, whatever its size."),
    Budget("UNPACKED_RATIO", UNPACKED_RATIO, "bytes per byte", "Further unpacked bytes for each packed byte; recordings reach about 20."),
    Budget("MAX_UNPACKED", MAX_UNPACKED, "bytes", "Size of an unpacked recording."),
    Budget("MAX_UNPACKING_MEMORY", MAX_UNPACKING_MEMORY, "bytes", "Memory for the dictionary of xz, and the window of zstd."),
    Budget("LEFT_ON_DISK", LEFT_ON_DISK, "bytes", "Free space that unpacking leaves on the disk of temporary files."),
)
"""All budgets of this subpackage."""
