"""Budgets of conditions."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_CONDITION: Final = Budget(1 << 15, "characters", "A condition (`--where`): enough for a list of several hundred IDs.")
MAX_NODES: Final = Budget(1 << 15, "values and operations", "What a condition becomes: `BETWEEN` and `IN` repeat what they test.")
MAX_LEVELS: Final = Budget(48, "levels", "Parentheses, functions, casts, operators of a condition inside one another.")
