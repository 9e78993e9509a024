"""Budgets of unpacking: a small file can be made to expand to more than any disk has."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

UNPACKED_FREE: Final = Budget(1 << 30, "bytes", "What a packed recording may expand to, whatever its size.")
UNPACKED_RATIO: Final = Budget(256, "bytes per byte", "Further unpacked bytes for each packed byte; recordings reach about 20.")
MAX_UNPACKED: Final = Budget(1 << 38, "bytes", "Size of an unpacked recording.")
MAX_UNPACKING_MEMORY: Final = Budget(1 << 28, "bytes", "Memory for the dictionary of xz, and the window of zstd.")
LEFT_ON_DISK: Final = Budget(1 << 28, "bytes", "Free space that unpacking leaves on the disk of temporary files.")
