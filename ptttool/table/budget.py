"""Budgets of conditions."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_CONDITION: Final = 1 << 15
MAX_SQL: Final = 1 << 20
# polars' parser takes 49, and beyond that sometimes exponential time to refuse.
MAX_LEVELS: Final = 48

BUDGETS: Final = (
    Budget("MAX_CONDITION", MAX_CONDITION, "characters", "A condition (`--where`): enough for a list of several hundred IDs."),
    Budget("MAX_SQL", MAX_SQL, "characters", "What a condition becomes for polars: `BETWEEN` and `IN` repeat what they test."),
    Budget("MAX_LEVELS", MAX_LEVELS, "levels", "Parentheses, functions, casts, operators of a condition inside one another."),
)
"""All budgets of this room."""
