"""Budgets of conditions."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_CONDITION: Final = 1 << 15
MAX_NODES: Final = 1 << 15
MAX_LEVELS: Final = 48

BUDGETS: Final = (
    Budget("MAX_CONDITION", MAX_CONDITION, "characters", "A condition (`--where`): enough for a list of several hundred IDs."),
    Budget("MAX_NODES", MAX_NODES, "values and operations", "What a condition becomes: `BETWEEN` and `IN` repeat what they test."),
    Budget("MAX_LEVELS", MAX_LEVELS, "levels", "Parentheses, functions, casts, operators of a condition inside one another."),
)
"""All budgets of this subpackage."""
