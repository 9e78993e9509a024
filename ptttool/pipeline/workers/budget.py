"""Budgets of processes that work on a recording."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_KEPT_MEMORY: Final = Budget(96 << 20, "bytes", "Memory of a process that analyzes; of more, what is freed goes back to the system.")
MAX_HELD_RESULTS: Final = Budget(
    32 << 20, "bytes", "Results of parts of a recording that wait to be merged; beyond it, processes wait. There is always one under way."
)
