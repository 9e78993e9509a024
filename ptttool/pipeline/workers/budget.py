"""Budgets of processes that work on a recording."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_KEPT_MEMORY: Final = 96 << 20
MAX_HELD_RESULTS: Final = 32 << 20

BUDGETS: Final = (
    Budget(
        "MAX_KEPT_MEMORY", MAX_KEPT_MEMORY, "bytes", "Memory of a process that analyzes; of more, what is freed goes back to the system."
    ),
    Budget(
        "MAX_HELD_RESULTS",
        MAX_HELD_RESULTS,
        "bytes",
        "Results of parts of a recording that wait to be merged; beyond it, processes wait. There is always one under way.",
    ),
)
"""All budgets of this subpackage."""
