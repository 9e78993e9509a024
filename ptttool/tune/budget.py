"""Budgets of tune profiles."""

from __future__ import annotations

from typing import Final

from ptttool.budget import Budget

MAX_PROFILE_BYTES: Final = 1 << 16
MAX_DOTS: Final = 1 << 7

BUDGETS: Final = (
    Budget("MAX_PROFILE_BYTES", MAX_PROFILE_BYTES, "bytes", "A tune profile; one of the largest machine has a few thousand."),
    Budget("MAX_DOTS", MAX_DOTS, "dots", "Dots in a line of a tune profile: the work for a key grows with the square of their number."),
)
"""All budgets of this room."""
